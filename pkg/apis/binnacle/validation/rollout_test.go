package validation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/operation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/validation"
)

type (
	spec = binnacle.RolloutSpec
	step = binnacle.RolloutStep
	gate = binnacle.RolloutGate
)

// brief is what written and declared rules find of an object, as type and path.
func brief(t *testing.T, obj runtime.Object, subresource string, written field.ErrorList) []string {
	t.Helper()
	ctx := request.WithRequestInfo(t.Context(), &request.RequestInfo{
		IsResourceRequest: true, APIGroup: binnacle.GroupName, APIVersion: "v1alpha1", Resource: "rollouts", Subresource: subresource})
	errs := append(written, validator.ValidateDeclaratively(ctx, obj, nil, field.ErrorList{}, operation.Create, rest.DeclarativeValidationConfig{})...)
	var found []string
	for _, err := range errs {
		found = append(found, strings.TrimPrefix(string(err.Type), "FieldValue")+" "+err.Field)
	}
	slices.Sort(found)
	return found
}

func percent(name string, n int32) step { return step{Name: name, Percent: ptr.To(n)} }
func count(name string, n int32) step   { return step{Name: name, Count: ptr.To(n)} }
func ring(name string, labels map[string]string, expressions ...metav1.LabelSelectorRequirement) step {
	return step{Name: name, ClusterSelector: &metav1.LabelSelector{MatchLabels: labels, MatchExpressions: expressions}}
}
func requirement(key string, op metav1.LabelSelectorOperator, values ...string) metav1.LabelSelectorRequirement {
	return metav1.LabelSelectorRequirement{Key: key, Operator: op, Values: values}
}
func duration(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }

// fullRollout breaks no rule.
func fullRollout() *binnacle.Rollout {
	canary := percent("canary", 10)
	canary.Gate = &gate{Success: true, Soak: duration(time.Hour), Approval: ptr.To[int32](2), Pause: true}
	return &binnacle.Rollout{ObjectMeta: metav1.ObjectMeta{Name: "payments", Namespace: "fleet"}, Spec: spec{
		Targets: binnacle.RolloutTargets{Selector: &binnacle.SelectorTarget{Namespaces: []string{"fleet"},
			Labels: &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}, Expression: `status.phase == "Ready"`}},
		Output: binnacle.RolloutOutput{DecisionKey: "payments", PlacementKey: "payments-api", SchedulerName: "binnacle.dev/rollout", Name: "payments"},
		Steps:  []step{canary, ring("emea", map[string]string{"region": "emea"}), count("few", 3), percent("all", 100)},
		Order:  &binnacle.RolloutOrder{Label: "example.com/tier", Canaries: []binnacle.ClusterReference{{Name: "a"}, {Name: "a", Namespace: "other"}}},
		Drift:  binnacle.DriftFreeze, Disconnected: binnacle.DisconnectedHold, Progression: binnacle.ProgressionManual,
		FailureBudget: &binnacle.RolloutBudget{Count: ptr.To[int32](0)}, ProgressDeadline: duration(time.Hour),
	}}
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

func references(n int) (list []binnacle.ClusterReference) {
	for i := range n {
		list = append(list, binnacle.ClusterReference{Name: fmt.Sprint("store-", i)})
	}
	return list
}

// TestRulesOfRollout walks every field that has a rule, at the limit and past it.
func TestRulesOfRollout(t *testing.T) {
	steps := func(list ...step) func(*spec) { return func(s *spec) { s.Steps, s.ProgressDeadline = list, nil } }
	gated := func(g gate) func(*spec) {
		return func(s *spec) { s.Steps[1].Gate = &g }
	}
	env := map[string]string{"env": "prod"}
	tests := []struct {
		name   string
		change func(*spec)
		want   []string
	}{
		{"good", func(*spec) {}, nil},
		{"nothing at all, not even defaults", func(s *spec) { *s = spec{} }, []string{"Required spec.disconnected", "Required spec.drift", "Required spec.output.decisionKey",
			"Required spec.output.schedulerName", "Required spec.progression", "Required spec.steps", "Required spec.targets"}},

		{"no targets", func(s *spec) { s.Targets = binnacle.RolloutTargets{} }, []string{"Required spec.targets"}},
		{"two kinds of targets", func(s *spec) { s.Targets.Clusters = references(1) }, []string{"Invalid spec.targets"}},
		{"decision", func(s *spec) {
			s.Targets = binnacle.RolloutTargets{Decision: &binnacle.DecisionTarget{Key: "scheduler.1_a"}}
		}, nil},
		{"decision without key", func(s *spec) { s.Targets = binnacle.RolloutTargets{Decision: &binnacle.DecisionTarget{}} },
			[]string{"Required spec.targets.decision.key"}},
		{"decision key that is none", func(s *spec) {
			s.Targets = binnacle.RolloutTargets{Decision: &binnacle.DecisionTarget{Key: "a b"}}
		}, []string{"Invalid spec.targets.decision.key"}},
		{"its own decision", func(s *spec) {
			s.Targets = binnacle.RolloutTargets{Decision: &binnacle.DecisionTarget{Key: "payments"}}
		}, []string{"Invalid spec.targets.decision.key"}},
		{"1000 clusters", func(s *spec) { s.Targets = binnacle.RolloutTargets{Clusters: references(1000)} }, nil},
		{"1001 clusters", func(s *spec) { s.Targets = binnacle.RolloutTargets{Clusters: references(1001)} }, []string{"TooMany spec.targets.clusters"}},
		{"one cluster twice, once with its namespace", func(s *spec) {
			s.Targets = binnacle.RolloutTargets{Clusters: append(references(2), binnacle.ClusterReference{Name: "store-1", Namespace: "fleet"})}
		}, []string{"Duplicate spec.targets.clusters[2]"}},
		{"cluster without a name", func(s *spec) { s.Targets = binnacle.RolloutTargets{Clusters: []binnacle.ClusterReference{{}}} },
			[]string{"Required spec.targets.clusters[0].name"}},
		{"names that are none", func(s *spec) {
			s.Targets = binnacle.RolloutTargets{Clusters: []binnacle.ClusterReference{{Name: "A", Namespace: "a.b"}}}
		}, []string{"Invalid spec.targets.clusters[0].name", "Invalid spec.targets.clusters[0].namespace"}},

		{"no namespaces", func(s *spec) { s.Targets.Selector.Namespaces = nil }, []string{"Required spec.targets.selector.namespaces"}},
		{"namespace twice", func(s *spec) { s.Targets.Selector.Namespaces = []string{"a", "a"} }, []string{"Duplicate spec.targets.selector.namespaces[1]"}},
		{"namespace that is none", func(s *spec) { s.Targets.Selector.Namespaces = []string{"a", "*"} }, []string{"Invalid spec.targets.selector.namespaces[1]"}},
		{"empty labels", func(s *spec) { s.Targets.Selector.Labels = &metav1.LabelSelector{} }, []string{"Required spec.targets.selector.labels"}},
		{"bad labels", func(s *spec) {
			s.Targets.Selector.Labels.MatchExpressions = []metav1.LabelSelectorRequirement{requirement("env", metav1.LabelSelectorOpIn)}
		}, []string{"Required spec.targets.selector.labels.matchExpressions[0].values"}},
		{"expression alone", func(s *spec) { s.Targets.Selector.Labels, s.Targets.Selector.Expression = nil, "true" }, nil},
		{"neither labels nor expression", func(s *spec) { s.Targets.Selector.Labels, s.Targets.Selector.Expression = nil, "" },
			[]string{"Required spec.targets.selector"}},
		{"expression that the check refuses", func(s *spec) { s.Targets.Selector.Expression = "wrong" }, []string{"Invalid spec.targets.selector.expression"}},
		{"expression of 4097", func(s *spec) { s.Targets.Selector.Expression = strings.Repeat("a", 4097) }, []string{"TooLong spec.targets.selector.expression"}},
		{"expression that is no text", func(s *spec) { s.Targets.Selector.Expression = "\xff" }, []string{"Invalid spec.targets.selector.expression"}},

		{"keys that are none", func(s *spec) { s.Output.DecisionKey, s.Output.PlacementKey, s.Output.Name = "-", "/", "A" },
			[]string{"Invalid spec.output.decisionKey", "Invalid spec.output.name", "Invalid spec.output.placementKey"}},
		{"output name of 241", func(s *spec) { s.Output.Name = strings.Repeat("a.", 120) + "b" }, []string{"TooLong spec.output.name"}},
		{"scheduler with a line break", func(s *spec) { s.Output.SchedulerName = "a\nb" }, []string{"Invalid spec.output.schedulerName"}},
		{"only a decision key", func(s *spec) { s.Output.PlacementKey, s.Output.Name = "", "" }, nil},

		{"one step", steps(percent("all", 100)), nil},
		{"0 %", steps(percent("none", 0), percent("all", 100)), []string{"Invalid spec.steps[0].percent"}},
		{"1 %", steps(percent("few", 1), percent("all", 100)), nil},
		{"101 %", steps(percent("all", 101)), []string{"Invalid spec.steps[0].percent", "Invalid spec.steps[0]"}},
		{"count of 0", steps(count("none", 0), percent("all", 100)), []string{"Invalid spec.steps[0].count"}},
		{"shrinking percent", steps(percent("a", 50), percent("b", 25), percent("all", 100)), []string{"Invalid spec.steps[1].percent"}},
		{"the same percent twice", steps(percent("a", 50), ring("b", env), percent("c", 50), percent("all", 100)), []string{"Invalid spec.steps[2].percent"}},
		{"shrinking count", steps(count("a", 5), percent("b", 25), count("c", 4), percent("all", 100)), []string{"Invalid spec.steps[2].count"}},
		{"count before percent", steps(count("a", 1), percent("b", 1), percent("all", 100)), nil},
		{"last step is not all", steps(percent("a", 50), percent("b", 99)), []string{"Invalid spec.steps[1]"}},
		{"rings without the rest", steps(ring("a", env)), []string{"Invalid spec.steps[0]"}},
		{"step after all", steps(percent("all", 100), ring("a", env), percent("again", 100)), []string{"Invalid spec.steps[1]", "Invalid spec.steps[2]"}},
		{"step of no kind", steps(step{Name: "a"}, percent("all", 100)), []string{"Required spec.steps[0]"}},
		{"step of two kinds", steps(step{Name: "a", Percent: ptr.To[int32](5), Count: ptr.To[int32](5)}, percent("all", 100)), []string{"Invalid spec.steps[0]"}},
		{"name twice", steps(percent("a", 5), percent("a", 100)), []string{"Duplicate spec.steps[1]"}},
		{"no name", steps(percent("", 5), percent("all", 100)), []string{"Required spec.steps[0].name"}},
		{"name that is none", steps(percent("A b", 5), percent("all", 100)), []string{"Invalid spec.steps[0].name"}},
		{"51 steps", func(s *spec) {
			steps()(s)
			for i := range int32(51) {
				s.Steps = append(s.Steps, percent(fmt.Sprint("s", i), i+50))
			}
		}, []string{"TooMany spec.steps"}},

		{"empty ring", steps(ring("a", nil), percent("all", 100)), []string{"Required spec.steps[0].clusterSelector"}},
		{"ring twice", steps(ring("a", env), ring("b", env), percent("all", 100)), []string{"Invalid spec.steps[1].clusterSelector"}},
		{"bad ring", steps(ring("a", map[string]string{"env": "a b"}), percent("all", 100)), []string{"Invalid spec.steps[0].clusterSelector.matchLabels"}},

		{"soak of a second", gated(gate{Soak: duration(time.Second)}), nil},
		{"no soak", gated(gate{Soak: duration(0)}), []string{"Invalid spec.steps[1].gate.soak"}},
		{"soak below 0", gated(gate{Soak: duration(-time.Hour)}), []string{"Invalid spec.steps[1].gate.soak"}},
		{"soak of more than a year", gated(gate{Soak: duration(8761 * time.Hour)}), []string{"Invalid spec.steps[1].gate.soak"}},
		{"nobody approves", gated(gate{Approval: ptr.To[int32](0)}), []string{"Invalid spec.steps[1].gate.approval"}},
		{"20 approve", gated(gate{Approval: ptr.To[int32](20)}), nil},
		{"21 approve", gated(gate{Approval: ptr.To[int32](21)}), []string{"Invalid spec.steps[1].gate.approval"}},
		{"last step has a gate", func(s *spec) { s.Steps[3].Gate = &gate{Success: true, Soak: duration(time.Hour)} }, nil},
		{"last step waits for people", func(s *spec) { s.Steps[3].Gate = &gate{Pause: true, Approval: ptr.To[int32](1)} },
			[]string{"Invalid spec.steps[3].gate.approval", "Invalid spec.steps[3].gate.pause"}},

		{"canary twice", func(s *spec) { s.Order.Canaries[1].Namespace = "fleet" }, []string{"Duplicate spec.order.canaries[1]"}},
		{"101 canaries", func(s *spec) { s.Order.Canaries = references(101) }, []string{"TooMany spec.order.canaries"}},
		{"label key that is none", func(s *spec) { s.Order.Label = "a b" }, []string{"Invalid spec.order.label"}},

		{"policies that are none", func(s *spec) { s.Drift, s.Disconnected, s.Progression = "follow", "Skip", "Auto" },
			[]string{"NotSupported spec.disconnected", "NotSupported spec.drift", "NotSupported spec.progression"}},
		{"budget of 100 %", func(s *spec) { s.FailureBudget = &binnacle.RolloutBudget{Percent: ptr.To[int32](100)} }, nil},
		{"budget of 101 %", func(s *spec) { s.FailureBudget = &binnacle.RolloutBudget{Percent: ptr.To[int32](101)} }, []string{"Invalid spec.failureBudget.percent"}},
		{"budget below 0", func(s *spec) { s.FailureBudget.Count = ptr.To[int32](-1) }, []string{"Invalid spec.failureBudget.count"}},
		{"budget of nothing", func(s *spec) { s.FailureBudget = &binnacle.RolloutBudget{} }, []string{"Required spec.failureBudget"}},
		{"budget of both", func(s *spec) { s.FailureBudget.Percent = ptr.To[int32](1) }, []string{"Invalid spec.failureBudget"}},
		{"deadline below 0", func(s *spec) { s.ProgressDeadline = duration(-1) }, []string{"Invalid spec.progressDeadline"}},
		{"deadline that nothing can miss", func(s *spec) { s.Steps[0].Gate.Success = false }, []string{"Invalid spec.progressDeadline"}},
	}
	check := func(at *field.Path, expression string) field.ErrorList {
		if expression == "wrong" {
			return field.ErrorList{field.Invalid(at, expression, "undeclared reference")}
		}
		return nil
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rollout := fullRollout()
			test.change(&rollout.Spec)
			if diff := cmp.Diff(sorted(test.want), brief(t, rollout, "", validation.ValidateRollout(rollout, check))); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLongNames(t *testing.T) {
	for name, test := range map[string]struct {
		length int
		output string
		want   []string
	}{
		"240":              {240, "", nil},
		"241":              {241, "", []string{"Required spec.output.name"}},
		"253, and another": {253, "short", nil},
	} {
		t.Run(name, func(t *testing.T) {
			rollout := fullRollout()
			rollout.Name, rollout.Spec.Output.Name = strings.Repeat("a", test.length), test.output
			if diff := cmp.Diff(test.want, brief(t, rollout, "", validation.ValidateRollout(rollout, nil))); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOverlappingRings is about which second ring can add nobody to a first.
func TestOverlappingRings(t *testing.T) {
	env := func(values ...string) metav1.LabelSelectorRequirement {
		return requirement("env", metav1.LabelSelectorOpIn, values...)
	}
	notEnv := func(values ...string) metav1.LabelSelectorRequirement {
		return requirement("env", metav1.LabelSelectorOpNotIn, values...)
	}
	hasEnv, noEnv := requirement("env", metav1.LabelSelectorOpExists), requirement("env", metav1.LabelSelectorOpDoesNotExist)
	region := requirement("region", metav1.LabelSelectorOpIn, "eu")
	all := func(requirements ...metav1.LabelSelectorRequirement) []metav1.LabelSelectorRequirement {
		return requirements
	}
	for name, test := range map[string]struct {
		first, second []metav1.LabelSelectorRequirement
		refused       bool
	}{
		"the same":                   {all(env("a")), all(env("a")), true},
		"narrower":                   {all(env("a")), all(env("a"), region), true},
		"wider":                      {all(env("a"), region), all(env("a")), false},
		"fewer values":               {all(env("a", "b")), all(env("b")), true},
		"more values":                {all(env("b")), all(env("a", "b")), false},
		"partly the same":            {all(env("a", "b")), all(env("b", "c")), false},
		"another key":                {all(env("a")), all(region), false},
		"value under any":            {all(hasEnv), all(env("a")), true},
		"any under any":              {all(hasEnv), all(hasEnv), true},
		"any under value":            {all(env("a")), all(hasEnv), false},
		"none under none":            {all(noEnv), all(noEnv), true},
		"none under not":             {all(notEnv("a")), all(noEnv), true},
		"value under not another":    {all(notEnv("a")), all(env("b")), true},
		"value under not that":       {all(notEnv("a")), all(env("a", "b")), false},
		"not more under not":         {all(notEnv("a")), all(notEnv("a", "b")), true},
		"not fewer under not":        {all(notEnv("a", "b")), all(notEnv("a")), false},
		"not is no value":            {all(hasEnv), all(notEnv("a")), false},
		"one of two requirements":    {all(env("a"), region), all(region), false},
		"two requirements, narrower": {all(hasEnv, region), all(region, env("a")), true},
	} {
		t.Run(name, func(t *testing.T) {
			rollout := fullRollout()
			rollout.Spec.ProgressDeadline = nil
			rollout.Spec.Steps = []step{ring("first", nil, test.first...), ring("second", nil, test.second...), percent("all", 100)}
			var want []string
			if test.refused {
				want = []string{"Invalid spec.steps[1].clusterSelector"}
			}
			if diff := cmp.Diff(want, brief(t, rollout, "", validation.ValidateRollout(rollout, nil))); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}
