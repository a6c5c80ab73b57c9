package validation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/validation"
)

// TestUpdateOfRollout changes each part of the spec before the start, in the second step, and after the end.
func TestUpdateOfRollout(t *testing.T) {
	const output, targets, order = "Forbidden spec.output", "Forbidden spec.targets", "Forbidden spec.order"
	tests := []struct {
		name   string
		change func(*spec)
		// running and finished are what is refused then; nothing is before the start.
		running, finished []string
	}{
		{"nothing", func(*spec) {}, nil, nil},
		{"output", func(s *spec) { s.Output.Name = "other" }, []string{output}, []string{output}},
		{"targets", func(s *spec) { s.Targets.Selector.Namespaces = []string{"other"} }, []string{targets}, nil},
		{"order", func(s *spec) { s.Order = nil }, []string{order}, nil},
		{"policies", func(s *spec) {
			s.Drift, s.Disconnected, s.Progression = binnacle.DriftFollow, binnacle.DisconnectedInclude, binnacle.ProgressionAutomatic
		}, nil, nil},
		{"budget and deadline", func(s *spec) { s.FailureBudget.Count, s.ProgressDeadline = ptr.To[int32](3), nil }, nil, nil},
		{"passed step", func(s *spec) { s.Steps[0].Percent = ptr.To[int32](5) }, []string{"Forbidden spec.steps[0]"}, nil},
		{"current step", func(s *spec) { s.Steps[1].Gate = &gate{Soak: duration(time.Hour)} }, []string{"Forbidden spec.steps[1]"}, nil},
		{"step to come", func(s *spec) { s.Steps[2].Count = ptr.To[int32](7) }, nil, nil},
		{"step to come is gone", func(s *spec) { s.Steps = append(s.Steps[:2:2], s.Steps[3]) }, nil, nil},
		{"step put before", func(s *spec) { s.Steps = append([]step{count("first", 1)}, s.Steps...) },
			[]string{"Forbidden spec.steps[0]", "Forbidden spec.steps[1]"}, nil},
		{"current step removed", func(s *spec) { s.Steps = append(s.Steps[:1:1], s.Steps[3]) }, []string{"Forbidden spec.steps[1]"}, nil},
		{"all but one removed", func(s *spec) { s.Steps, s.ProgressDeadline = s.Steps[3:], nil },
			[]string{"Forbidden spec.steps[0]", "Forbidden spec.steps"}, nil},
	}
	started := metav1.Now()
	for _, test := range tests {
		for phase, want := range map[binnacle.RolloutPhase][]string{
			"": nil, binnacle.RolloutPending: nil, binnacle.RolloutProgressing: test.running, binnacle.RolloutPaused: test.running,
			binnacle.RolloutStopped: test.running, binnacle.RolloutCompleted: test.finished, binnacle.RolloutAborted: test.finished,
			binnacle.RolloutRolledBack: test.finished,
		} {
			t.Run(test.name+"/"+string(phase), func(t *testing.T) {
				old, rollout := fullRollout(), fullRollout()
				old.Status.Phase = phase
				if phase != "" && phase != binnacle.RolloutPending {
					old.Status.StartTime, old.Status.Step = &started, &binnacle.RolloutStepStatus{Name: "emea", Index: 1}
				}
				test.change(&rollout.Spec)
				var found []string
				for _, err := range validation.ValidateRolloutUpdate(rollout, old, nil) {
					found = append(found, strings.TrimPrefix(string(err.Type), "FieldValue")+" "+err.Field)
				}
				if diff := cmp.Diff(want, found); diff != "" {
					t.Errorf("errors (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestOldExpressionIsNotCheckedAgain(t *testing.T) {
	refuse := func(at *field.Path, expression string) field.ErrorList {
		return field.ErrorList{field.Invalid(at, expression, "undeclared reference")}
	}
	old, rollout := fullRollout(), fullRollout()
	if errs := validation.ValidateRolloutUpdate(rollout, old, refuse); len(errs) > 0 {
		t.Errorf("unchanged: %v", errs)
	}
	rollout.Spec.Targets.Selector.Expression = "true"
	if errs := validation.ValidateRolloutUpdate(rollout, old, refuse); len(errs) != 1 {
		t.Errorf("changed: %v, want one error", errs)
	}
}

func TestRulesOfRolloutAction(t *testing.T) {
	type action = binnacle.RolloutActionSpec
	tests := []struct {
		name string
		spec action
		want map[binnacle.RolloutVerb][]string
	}{
		{"empty", action{}, map[binnacle.RolloutVerb][]string{
			binnacle.VerbPromote: {"Required spec.reason"}, binnacle.VerbRollback: {"Required spec.toRevision"}}},
		{"blank reason", action{Reason: " ", ToRevision: ptr.To[int64](1)}, map[binnacle.RolloutVerb][]string{
			binnacle.VerbPromote: {"Forbidden spec.toRevision", "Required spec.reason"}, binnacle.VerbAbort: {"Forbidden spec.toRevision"}}},
		{"revision 0", action{ToRevision: ptr.To[int64](0)}, map[binnacle.RolloutVerb][]string{binnacle.VerbRollback: {"Invalid spec.toRevision"}}},
		{"clusters", action{Clusters: references(1000)}, map[binnacle.RolloutVerb][]string{
			binnacle.VerbRetry: nil, binnacle.VerbAdvance: {"Forbidden spec.clusters"}}},
		{"cluster twice", action{Clusters: append(references(1), references(1001)...)}, map[binnacle.RolloutVerb][]string{
			binnacle.VerbRetry: {"TooMany spec.clusters", "Duplicate spec.clusters[1]"}}},
		{"long texts", action{Reason: strings.Repeat("ü", 1025), IdempotencyKey: strings.Repeat("k", 65)}, map[binnacle.RolloutVerb][]string{
			binnacle.VerbPause: {"TooLong spec.idempotencyKey", "TooLong spec.reason"}}},
		{"reason in lines", action{Reason: "one\n\ttwo"}, map[binnacle.RolloutVerb][]string{binnacle.VerbPause: nil}},
		{"reason with an escape sequence", action{Reason: "\x1b[31m"}, map[binnacle.RolloutVerb][]string{binnacle.VerbPause: {"Invalid spec.reason"}}},
		{"reason that turns the text", action{Reason: "\u202egnp"}, map[binnacle.RolloutVerb][]string{binnacle.VerbPause: {"Invalid spec.reason"}}},
		{"key with a line break", action{IdempotencyKey: "\n", ObservedStep: ptr.To(""), ObservedRevision: ptr.To[int64](0)},
			map[binnacle.RolloutVerb][]string{binnacle.VerbResume: {"Invalid spec.idempotencyKey"}}},
	}
	for _, test := range tests {
		for verb, want := range test.want {
			t.Run(test.name+"/"+string(verb), func(t *testing.T) {
				obj := &binnacle.RolloutAction{Spec: test.spec}
				got := brief(t, obj, string(verb), validation.ValidateRolloutAction(verb, obj, "fleet"))
				if diff := cmp.Diff(sorted(want), got); diff != "" {
					t.Errorf("errors (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestRulesOfRolloutFeedback(t *testing.T) {
	for name, test := range map[string]struct {
		spec binnacle.RolloutFeedbackSpec
		want []string
	}{
		"good":    {binnacle.RolloutFeedbackSpec{Cluster: references(1)[0], Revision: 1, Outcome: "Failed", Reason: "ImagePullBackOff"}, nil},
		"nothing": {binnacle.RolloutFeedbackSpec{}, []string{"Required spec.cluster.name", "Required spec.revision", "Required spec.outcome"}},
		"bad": {binnacle.RolloutFeedbackSpec{Cluster: references(1)[0], Revision: -1, Outcome: "Unknown", Reason: "two words"},
			[]string{"Invalid spec.revision", "NotSupported spec.outcome", "Invalid spec.reason"}},
		"long": {binnacle.RolloutFeedbackSpec{Cluster: references(1)[0], Revision: 1, Outcome: "Failed", Reason: strings.Repeat("R", 65)},
			[]string{"TooLong spec.reason"}},
	} {
		t.Run(name, func(t *testing.T) {
			obj := &binnacle.RolloutFeedback{Spec: test.spec}
			if diff := cmp.Diff(sorted(test.want), brief(t, obj, "feedback", validation.ValidateRolloutFeedback(obj))); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}
