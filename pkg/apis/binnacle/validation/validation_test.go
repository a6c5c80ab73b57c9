package validation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/install"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/validation"
)

var validator = func() rest.DeclarativeValidation {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	return rest.DeclarativeValidation{Scheme: scheme}
}()

// found is what all rules find, declared and written, as type and path.
func found(t *testing.T, report *binnacle.ClusterReport) []string {
	t.Helper()
	ctx := request.WithRequestInfo(t.Context(), &request.RequestInfo{
		IsResourceRequest: true, APIGroup: binnacle.GroupName, APIVersion: "v1alpha1", Resource: "clusterstatuses", Subresource: "report"})
	errs := validation.ValidateClusterReport(report)
	errs = append(errs, validator.ValidateDeclaratively(ctx, report, nil, field.ErrorList{}, operation.Create, rest.DeclarativeValidationConfig{})...)
	var brief []string
	for _, err := range errs {
		brief = append(brief, fmt.Sprintf("%s %s", string(err.Type), err.Field))
	}
	slices.Sort(brief)
	return brief
}

// fullReport breaks no rule.
func fullReport() *binnacle.ClusterReport {
	amounts := func() corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8"), "nvidia.com/gpu": resource.MustParse("0")}
	}
	return &binnacle.ClusterReport{Spec: binnacle.ClusterReportSpec{
		ClusterProfileUID: ptr.To[types.UID]("5a5a7c1c-3d0c-4f0e-9a53-5b1b8a5e6f0d"), Time: &metav1.Time{}, IntervalSeconds: ptr.To[int32](10),
		KubernetesVersion: "v1.37.2", Nodes: &binnacle.NodeCounts{Total: 3, Ready: 3},
		Resources:  &binnacle.ClusterResources{Capacity: amounts(), Allocatable: amounts(), Available: amounts()},
		Properties: []binnacle.ReportedProperty{{Name: "region", Value: "Zürich"}, {Name: "empty"}},
		Conditions: []binnacle.ReportedCondition{
			{Type: "ControlPlaneHealthy", Status: metav1.ConditionTrue},
			{Type: "example.com/Drained", Status: metav1.ConditionUnknown, Reason: "ReasonOf_It,a:1", Message: "über"},
		},
	}}
}

func properties(n int) (list []binnacle.ReportedProperty) {
	for i := range n {
		list = append(list, binnacle.ReportedProperty{Name: fmt.Sprint("property-", i)})
	}
	return list
}

func conditions(n int) (list []binnacle.ReportedCondition) {
	for i := range n {
		list = append(list, binnacle.ReportedCondition{Type: fmt.Sprint("Condition", i), Status: metav1.ConditionFalse})
	}
	return list
}

func amounts(n int) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := range n {
		list[corev1.ResourceName(fmt.Sprint("example.com/", i))] = resource.MustParse("1")
	}
	return list
}

// longType is a qualified name of 316 characters, which is what metav1.Condition allows, and of more with extra.
func longType(extra string) string {
	return strings.Repeat(strings.Repeat("a", 62)+".", 3) + strings.Repeat("b", 63) + extra + "/" + strings.Repeat("C", 63)
}

// TestRulesOfClusterReport walks every field that has a rule, at the limit and past it. Lengths are code points, not bytes.
func TestRulesOfClusterReport(t *testing.T) {
	type spec = binnacle.ClusterReportSpec
	tests := []struct {
		name   string
		change func(*spec)
		want   []string
	}{
		{"good", func(*spec) {}, nil},
		{"nothing at all", func(s *spec) { *s = spec{} }, nil},
		{"parts that are empty", func(s *spec) {
			*s = spec{Nodes: &binnacle.NodeCounts{}, Resources: &binnacle.ClusterResources{}, Properties: properties(0), Conditions: conditions(0)}
		}, nil},
		{"any uid, which is compared only", func(s *spec) { s.ClusterProfileUID = ptr.To[types.UID]("x") }, nil},

		{"interval of 1", func(s *spec) { s.IntervalSeconds = ptr.To[int32](1) }, nil},
		{"interval of 0", func(s *spec) { s.IntervalSeconds = ptr.To[int32](0) }, []string{"FieldValueInvalid spec.intervalSeconds"}},
		{"interval below 0", func(s *spec) { s.IntervalSeconds = ptr.To[int32](-1) }, []string{"FieldValueInvalid spec.intervalSeconds"}},
		{"interval of 3600", func(s *spec) { s.IntervalSeconds = ptr.To[int32](3600) }, nil},
		{"interval of 3601", func(s *spec) { s.IntervalSeconds = ptr.To[int32](3601) }, []string{"FieldValueInvalid spec.intervalSeconds"}},

		{"version of 253", func(s *spec) { s.KubernetesVersion = strings.Repeat("ü", 253) }, nil},
		{"version of 254", func(s *spec) { s.KubernetesVersion = strings.Repeat("v", 254) }, []string{"FieldValueTooLong spec.kubernetesVersion"}},

		{"no nodes", func(s *spec) { s.Nodes = &binnacle.NodeCounts{} }, nil},
		{"nodes below 0", func(s *spec) { s.Nodes = &binnacle.NodeCounts{Total: -1, Ready: -1} },
			[]string{"FieldValueInvalid spec.nodes.ready", "FieldValueInvalid spec.nodes.total"}},
		{"more nodes ready than there are", func(s *spec) { s.Nodes = &binnacle.NodeCounts{Total: 3, Ready: 4} },
			[]string{"FieldValueInvalid spec.nodes.ready"}},

		{"256 properties", func(s *spec) { s.Properties = properties(256) }, nil},
		{"257 properties", func(s *spec) { s.Properties = properties(257) }, []string{"FieldValueTooMany spec.properties"}},
		{"a property twice", func(s *spec) { s.Properties = append(properties(2), properties(1)...) }, []string{"FieldValueDuplicate spec.properties[2]"}},
		{"property without a name", func(s *spec) { s.Properties[1].Name = "" }, []string{"FieldValueRequired spec.properties[1].name"}},
		{"property name of 253", func(s *spec) { s.Properties[1].Name = strings.Repeat("ü", 253) }, nil},
		{"property name of 254", func(s *spec) { s.Properties[1].Name = strings.Repeat("n", 254) }, []string{"FieldValueTooLong spec.properties[1].name"}},
		{"value of 1024", func(s *spec) { s.Properties[1].Value = strings.Repeat("ü", 1024) }, nil},
		{"value of 1024 beyond 16 bits", func(s *spec) { s.Properties[1].Value = strings.Repeat("🧭", 1024) }, nil},
		{"value of 1025", func(s *spec) { s.Properties[1].Value = strings.Repeat("v", 1025) }, []string{"FieldValueTooLong spec.properties[1].value"}},

		{"32 conditions", func(s *spec) { s.Conditions = conditions(32) }, nil},
		{"33 conditions", func(s *spec) { s.Conditions = conditions(33) }, []string{"FieldValueTooMany spec.conditions"}},
		{"a condition twice", func(s *spec) { s.Conditions = append(conditions(2), conditions(1)...) }, []string{"FieldValueDuplicate spec.conditions[2]"}},
		{"condition without a type", func(s *spec) { s.Conditions[1].Type = "" }, []string{"FieldValueRequired spec.conditions[1].type"}},
		{"type of 316", func(s *spec) { s.Conditions[1].Type = longType("") }, nil},
		{"type of 317", func(s *spec) { s.Conditions[1].Type = longType("b") }, []string{"FieldValueTooLong spec.conditions[1].type"}},
		{"type of two words", func(s *spec) { s.Conditions[1].Type = "two words" }, []string{"FieldValueInvalid spec.conditions[1].type"}},
		{"condition without a status", func(s *spec) { s.Conditions[1].Status = "" }, []string{"FieldValueRequired spec.conditions[1].status"}},
		{"status False", func(s *spec) { s.Conditions[1].Status = metav1.ConditionFalse }, nil},
		{"status of small letters", func(s *spec) { s.Conditions[1].Status = "true" }, []string{"FieldValueNotSupported spec.conditions[1].status"}},
		{"no reason", func(s *spec) { s.Conditions[1].Reason = "" }, nil},
		{"reason of 1024", func(s *spec) { s.Conditions[1].Reason = strings.Repeat("R", 1024) }, nil},
		{"reason of 1025", func(s *spec) { s.Conditions[1].Reason = strings.Repeat("R", 1025) }, []string{"FieldValueTooLong spec.conditions[1].reason"}},
		{"reason of two words", func(s *spec) { s.Conditions[1].Reason = "two words" }, []string{"FieldValueInvalid spec.conditions[1].reason"}},
		{"reason that ends with a colon", func(s *spec) { s.Conditions[1].Reason = "Why:" }, []string{"FieldValueInvalid spec.conditions[1].reason"}},
		{"reason with a line break", func(s *spec) { s.Conditions[1].Reason = "Why\n" }, []string{"FieldValueInvalid spec.conditions[1].reason"}},
		{"message of 4096", func(s *spec) { s.Conditions[1].Message = strings.Repeat("ü", 4096) }, nil},
		{"message of 4097", func(s *spec) { s.Conditions[1].Message = strings.Repeat("m", 4097) }, []string{"FieldValueTooLong spec.conditions[1].message"}},

		{"256 resources in each list", func(s *spec) {
			s.Resources = &binnacle.ClusterResources{Capacity: amounts(256), Allocatable: amounts(256), Available: amounts(256)}
		}, nil},
		{"257 resources in each list", func(s *spec) {
			s.Resources = &binnacle.ClusterResources{Capacity: amounts(257), Allocatable: amounts(257), Available: amounts(257)}
		}, []string{"FieldValueTooMany spec.resources.allocatable", "FieldValueTooMany spec.resources.available", "FieldValueTooMany spec.resources.capacity"}},
		{"amount below 0", func(s *spec) { s.Resources.Available[corev1.ResourceCPU] = resource.MustParse("-1m") },
			[]string{"FieldValueInvalid spec.resources.available[cpu]"}},
		{"name that is none", func(s *spec) { s.Resources.Capacity["no name"] = resource.MustParse("1") },
			[]string{"FieldValueInvalid spec.resources.capacity[no name]"}},
		{"empty name", func(s *spec) { s.Resources.Allocatable[""] = resource.MustParse("1") },
			[]string{"FieldValueInvalid spec.resources.allocatable[]", "FieldValueInvalid spec.resources.allocatable[]"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			report := fullReport()
			test.change(&report.Spec)
			if diff := cmp.Diff(test.want, found(t, report)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}
