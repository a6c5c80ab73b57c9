package validation

import (
	"bytes"
	"net/url"
	"regexp"
	"slices"
	"unicode/utf8"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/utils/ptr"
)

// ValidateImmutableClusterManager refuses a change of the cluster manager's name (KEP-4322, Cluster Manager).
func ValidateImmutableClusterManager(fldPath *field.Path, name, oldName *string) field.ErrorList {
	if ptr.Equal(name, oldName) {
		return nil
	}
	return field.ErrorList{field.Invalid(fldPath, map[string]any{"name": ptr.Deref(name, "")}, "ClusterManager is immutable")}
}

// ValidateTimestamp checks that text is a date and time as RFC 3339 has it, with the formats that a custom resource accepts.
func ValidateTimestamp(fldPath *field.Path, text *string) field.ErrorList {
	if text == nil || strfmt.IsDateTime(*text) {
		return nil
	}
	return field.ErrorList{field.TypeInvalid(fldPath, *text, "must be of type date-time (RFC 3339), such as 2026-11-30T12:00:00Z")}
}

// ValidateExtension checks that an extension is a JSON object.
func ValidateExtension(fldPath *field.Path, extension *runtime.RawExtension) field.ErrorList {
	raw := bytes.TrimSpace(extension.Raw)
	switch {
	case len(raw) == 0 || bytes.Equal(raw, []byte("null")):
		return field.ErrorList{field.Required(fldPath, "")}
	case raw[0] != '{':
		return field.ErrorList{field.TypeInvalid(fldPath, string(raw), "must be a JSON object")}
	}
	return nil
}

// ValidateServerURL checks that the address of an API server is an absolute URL with a host.
func ValidateServerURL(fldPath *field.Path, server *string) field.ErrorList {
	if u := requestURL(server); u != nil && u.Host != "" {
		return nil
	}
	return field.ErrorList{field.Invalid(fldPath, ptr.Deref(server, ""), "server must be a valid absolute URL with a host")}
}

// ValidateProxyURL checks that a proxy is empty or a URL with a host and a scheme that clients know.
func ValidateProxyURL(fldPath *field.Path, proxy *string) field.ErrorList {
	if ptr.Deref(proxy, "") == "" {
		return nil
	}
	if u := requestURL(proxy); u != nil && u.Host != "" && slices.Contains([]string{"http", "https", "socks5"}, u.Scheme) {
		return nil
	}
	return field.ErrorList{field.Invalid(fldPath, *proxy, "proxy-url must be a valid URL with scheme http, https, or socks5 and a host")}
}

// requestURL parses text as the CEL library of Kubernetes does, nil where it is no URL.
func requestURL(text *string) *url.URL {
	if text == nil {
		return nil
	}
	if _, err := url.ParseRequestURI(*text); err != nil {
		return nil
	}
	u, err := url.Parse(*text)
	if err != nil {
		return nil
	}
	return u
}

// Limits of a condition, from the schema of metav1.Condition.
const (
	maxConditionType    = 316
	maxConditionReason  = 1024
	maxConditionMessage = 32768
)

var (
	conditionTypePattern   = regexp.MustCompile(`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`)
	conditionReasonPattern = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)
	conditionStatuses      = []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown}
)

// ValidateConditions checks each condition by the schema that controller-gen writes for metav1.Condition. A condition that stands in
// old as it is, wherever in the list, is left alone: who changes another one must not be refused for it.
func ValidateConditions(fldPath *field.Path, conditions, old []metav1.Condition) field.ErrorList {
	var errs field.ErrorList
	for i := range conditions {
		same := func(o metav1.Condition) bool { return apiequality.Semantic.DeepEqual(o, conditions[i]) }
		if !slices.ContainsFunc(old, same) {
			errs = append(errs, validateCondition(fldPath.Index(i), &conditions[i])...)
		}
	}
	return errs
}

func validateCondition(fldPath *field.Path, c *metav1.Condition) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, validateText(fldPath.Child("type"), c.Type, maxConditionType, conditionTypePattern)...)
	if !slices.Contains(conditionStatuses, c.Status) {
		errs = append(errs, field.NotSupported(fldPath.Child("status"), c.Status, conditionStatuses))
	}
	if c.ObservedGeneration < 0 {
		errs = append(errs, field.Invalid(fldPath.Child("observedGeneration"), c.ObservedGeneration, "must be 0 or more"))
	}
	if c.LastTransitionTime.IsZero() {
		errs = append(errs, field.Required(fldPath.Child("lastTransitionTime"), ""))
	}
	errs = append(errs, validateText(fldPath.Child("reason"), c.Reason, maxConditionReason, conditionReasonPattern)...)
	return append(errs, validateText(fldPath.Child("message"), c.Message, maxConditionMessage, nil)...)
}

func validateText(fldPath *field.Path, text string, limit int, pattern *regexp.Regexp) field.ErrorList {
	if utf8.RuneCountInString(text) > limit {
		return field.ErrorList{field.TooLongCharacters(fldPath, text, limit)}
	}
	if pattern != nil && !pattern.MatchString(text) {
		return field.ErrorList{field.Invalid(fldPath, text, "must match "+pattern.String())}
	}
	return nil
}
