package apiserver

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// own are the definitions of Binnacle's own group by version and type.
func own(t *testing.T) map[string]spec.Schema {
	t.Helper()
	found := map[string]spec.Schema{}
	for name, definition := range models(t) {
		if short, ok := strings.CutPrefix(name, "dev.binnacle."); ok {
			found[short] = definition.Schema
		}
	}
	return found
}

func TestOwnModelNames(t *testing.T) {
	var want []string
	for _, name := range []string{"ClusterReference", "ClusterReport", "ClusterReportSpec", "ClusterReportStatus", "ClusterResources", "ClusterStatus", "ClusterStatusList",
		"ClusterStatusStatus", "DecisionTarget", "NodeCounts", "PlacementSummary", "ReportedCondition", "ReportedProperty",
		"Rollout", "RolloutAction", "RolloutActionSpec", "RolloutActionStatus", "RolloutApproval", "RolloutBudget", "RolloutCluster", "RolloutCounts",
		"RolloutFeedback", "RolloutFeedbackSpec", "RolloutGate", "RolloutList", "RolloutOrder", "RolloutOutput", "RolloutPreview", "RolloutPreviewOptions", "RolloutPreviewStatus",
		"RolloutRequest", "RolloutRevision", "RolloutSpec", "RolloutStatus", "RolloutStep", "RolloutStepStatus", "RolloutTargets", "RolloutTimer",
		"RolloutTransition", "SelectorTarget", "SourcedProperty"} {
		want = append(want, "v1alpha1."+name)
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(own(t)))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if name := (v1alpha1.ClusterReport{}).OpenAPIModelName(); name != "dev.binnacle.v1alpha1.ClusterReport" {
		t.Errorf("the name is %s", name)
	}
	for name := range models(t) {
		if strings.HasPrefix(name, "com.github.binnacle-dev") {
			t.Errorf("a model is named after its Go package: %s", name)
		}
	}
}

func TestEveryOwnFieldIsExplained(t *testing.T) {
	schemas := own(t)
	for _, obj := range []any{v1alpha1.ClusterStatus{}, v1alpha1.ClusterStatusList{}, v1alpha1.ClusterReport{},
		v1alpha1.Rollout{}, v1alpha1.RolloutList{}, v1alpha1.RolloutAction{}, v1alpha1.RolloutFeedback{}, v1alpha1.RolloutPreview{}} {
		explained(t, schemas, "v1alpha1."+reflect.TypeOf(obj).Name(), reflect.TypeOf(obj))
	}
	for name, schema := range schemas {
		for field, property := range schema.Properties {
			if strings.HasSuffix(name, "List") || field == "kind" || field == "apiVersion" || field == "metadata" {
				continue
			}
			if property.Type.Contains("array") && property.Extensions["x-kubernetes-list-type"] == nil {
				t.Errorf("%s.%s does not say how it merges", name, field)
			}
			if !strings.HasPrefix(property.Description, field) {
				t.Errorf("%s.%s is described as %q, which does not begin with its name", name, field, property.Description)
			}
		}
	}
}

// TestPublishedLimits pins the limits that clients may read, each beside the rule that the server follows.
func TestPublishedLimits(t *testing.T) {
	type limits struct {
		Length, Items *int64
		Least, Most   *float64
	}
	n := func(n int64) *int64 { return &n }
	f := func(n float64) *float64 { return &n }
	want := map[string]limits{
		"ClusterReportSpec.intervalSeconds": {Least: f(1), Most: f(3600)}, "ClusterReportSpec.kubernetesVersion": {Length: n(253)},
		"ClusterReportSpec.properties": {Items: n(256)}, "ClusterReportSpec.conditions": {Items: n(32)},
		"ReportedProperty.name": {Length: n(253)}, "ReportedProperty.value": {Length: n(1024)},
		"ReportedCondition.type": {Length: n(316)}, "ReportedCondition.reason": {Length: n(1024)}, "ReportedCondition.message": {Length: n(4096)},
		"NodeCounts.total": {Least: f(0)}, "NodeCounts.ready": {Least: f(0)},

		"SelectorTarget.expression": {Length: n(4096)}, "SelectorTarget.namespaces": {Items: n(64)}, "RolloutTargets.clusters": {Items: n(1000)},
		"RolloutOutput.name": {Length: n(240)}, "RolloutOutput.schedulerName": {Length: n(253)}, "RolloutOrder.canaries": {Items: n(100)},
		"RolloutSpec.steps": {Items: n(50)}, "RolloutStep.count": {Least: f(1)}, "RolloutStep.percent": {Least: f(1), Most: f(100)},
		"RolloutGate.approval": {Least: f(1), Most: f(20)}, "RolloutBudget.count": {Least: f(0)}, "RolloutBudget.percent": {Least: f(0), Most: f(100)},
		"RolloutActionSpec.clusters": {Items: n(1000)}, "RolloutActionSpec.idempotencyKey": {Length: n(64)}, "RolloutActionSpec.reason": {Length: n(1024)},
		"RolloutActionSpec.toRevision": {Least: f(1)}, "RolloutFeedbackSpec.reason": {Length: n(64)}, "RolloutFeedbackSpec.revision": {Least: f(1)},
	}
	got := map[string]limits{}
	for name, schema := range own(t) {
		for field, property := range schema.Properties {
			if l := (limits{property.MaxLength, property.MaxItems, property.Minimum, property.Maximum}); l != (limits{}) {
				got[strings.TrimPrefix(name, "v1alpha1.")+"."+field] = l
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOwnRequiredFieldsAndLists(t *testing.T) {
	schemas := own(t)
	for model, required := range map[string][]string{
		"ClusterReport": nil, "ClusterReportSpec": nil, "ReportedProperty": {"name"}, "ReportedCondition": {"type", "status"},
		"ClusterStatus": nil, "ClusterStatusList": {"items"},
		"Rollout": {"spec"}, "RolloutSpec": {"targets", "output", "steps"}, "RolloutStep": {"name"}, "RolloutGate": nil, "RolloutAction": nil, "RolloutActionSpec": nil,
		"RolloutFeedback": {"spec"}, "RolloutFeedbackSpec": {"cluster", "revision", "outcome"}, "RolloutTargets": nil, "ClusterReference": {"name"},
	} {
		if diff := cmp.Diff(required, schemas["v1alpha1."+model].Required); diff != "" {
			t.Errorf("%s requires (-want +got):\n%s", model, diff)
		}
	}
	for field, keys := range map[string][]any{
		"ClusterReportSpec.properties": {"name"}, "ClusterReportSpec.conditions": {"type"},
		"ClusterStatusStatus.conditions": {"type"}, "ClusterStatusStatus.properties": {"name"}, "PlacementSummary.keys": nil,
		"RolloutSpec.steps": {"name"}, "RolloutStatus.conditions": {"type"}, "RolloutStatus.clusters": nil,
	} {
		model, name, _ := strings.Cut(field, ".")
		got, _ := schemas["v1alpha1."+model].Properties[name].Extensions["x-kubernetes-list-map-keys"].([]any)
		if diff := cmp.Diff(keys, got); diff != "" {
			t.Errorf("keys of %s (-want +got):\n%s", field, diff)
		}
	}
}
