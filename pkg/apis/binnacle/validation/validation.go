// Package validation holds the rules of Binnacle's own kinds that no declarative tag can say.
//
// It may import apimachinery, k8s.io/api/core/v1 and pkg/apis/binnacle only.
package validation

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// MaxResourceNames is how many resources a ResourceList of a report has at most.
const MaxResourceNames = 256

// maxProperties is how many properties of a report are looked at: the limit, which a tag enforces.
const maxProperties = 256

// ValidateClusterReport checks what no tag can: the lists of resources, since the generator does not look into a ResourceList, and whether texts are texts.
func ValidateClusterReport(report *binnacle.ClusterReport) field.ErrorList {
	errs := validateTexts(&report.Spec, field.NewPath("spec"))
	resources := report.Spec.Resources
	if resources == nil {
		return errs
	}
	fldPath := field.NewPath("spec", "resources")
	errs = append(errs, validateResourceList(fldPath.Child("capacity"), resources.Capacity)...)
	errs = append(errs, validateResourceList(fldPath.Child("allocatable"), resources.Allocatable)...)
	return append(errs, validateResourceList(fldPath.Child("available"), resources.Available)...)
}

// validateTexts refuses what is no text: protobuf can hold it, and each encoding would send something else on. What is shown in a line has
// no control characters either.
func validateTexts(spec *binnacle.ClusterReportSpec, fldPath *field.Path) field.ErrorList {
	var errs field.ErrorList
	check := func(at *field.Path, text string, line bool) { errs = append(errs, validateText(at, text, line)...) }
	check(fldPath.Child("kubernetesVersion"), spec.KubernetesVersion, true)
	for i, p := range spec.Properties[:min(len(spec.Properties), maxProperties)] { // Of more, the tags say that they are too many.
		at := fldPath.Child("properties").Index(i)
		check(at.Child("name"), p.Name, true)
		check(at.Child("value"), p.Value, false)
	}
	for i, c := range spec.Conditions {
		check(fldPath.Child("conditions").Index(i).Child("message"), c.Message, false)
	}
	return errs
}

// validateText refuses what is not UTF-8 and, where it is shown in a line, control characters.
func validateText(fldPath *field.Path, text string, line bool) field.ErrorList {
	if !utf8.ValidString(text) {
		return field.ErrorList{field.Invalid(fldPath, strings.ToValidUTF8(text, "\uFFFD"), "must be UTF-8")}
	}
	if line && strings.ContainsFunc(text, unicode.IsControl) {
		return field.ErrorList{field.Invalid(fldPath, text, "must not have control characters")}
	}
	return nil
}

// ValidateNodeCounts refuses more ready nodes than there are.
func ValidateNodeCounts(fldPath *field.Path, total, ready int32) field.ErrorList {
	if ready > total {
		return field.ErrorList{field.Invalid(fldPath.Child("ready"), ready, "must not be more than total")}
	}
	return nil
}

// validateResourceList checks that each name is a qualified name and no amount is negative.
func validateResourceList(fldPath *field.Path, list corev1.ResourceList) field.ErrorList {
	if len(list) > MaxResourceNames {
		return field.ErrorList{field.TooMany(fldPath, len(list), MaxResourceNames)}
	}
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(list)) {
		at := fldPath.Key(string(name))
		for _, message := range validation.IsQualifiedName(string(name)) {
			errs = append(errs, field.Invalid(at, string(name), message))
		}
		if amount := list[name]; amount.Sign() < 0 {
			errs = append(errs, field.Invalid(at, amount.String(), "must be greater than or equal to 0"))
		}
	}
	return errs
}

// ValidateConditionType accepts a qualified name, as metav1.Condition has it. An empty one is required by a tag already.
func ValidateConditionType(fldPath *field.Path, conditionType string) field.ErrorList {
	var errs field.ErrorList
	if conditionType != "" {
		for _, message := range validation.IsQualifiedName(conditionType) {
			errs = append(errs, field.Invalid(fldPath, conditionType, message))
		}
	}
	return errs
}

var conditionReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// ValidateConditionReason accepts a word as metav1.Condition has it, and none.
func ValidateConditionReason(fldPath *field.Path, reason string) field.ErrorList {
	if reason != "" && !conditionReason.MatchString(reason) {
		return field.ErrorList{field.Invalid(fldPath, reason, "must be one word that begins with a letter, of letters, digits, '_', ',' and ':', such as ReportsStopped")}
	}
	return nil
}

var conditionStatuses = []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown}

// ValidateConditionStatus accepts True, False and Unknown. An empty one is required by a tag already.
func ValidateConditionStatus(fldPath *field.Path, status metav1.ConditionStatus) field.ErrorList {
	if status != "" && !slices.Contains(conditionStatuses, status) {
		return field.ErrorList{field.NotSupported(fldPath, status, conditionStatuses)}
	}
	return nil
}
