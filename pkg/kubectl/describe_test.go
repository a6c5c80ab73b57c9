package kubectl

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

func TestDescribe(t *testing.T) {
	for name, r := range map[string]*v1alpha1.Rollout{
		"rollout-soaking":     newRollout(),
		"rollout-stopped":     newRollout(troubled),
		"rollout-not-started": newRollout(notStarted),
		"rollout-paused":      newRollout(paused),
		"rollout-approval":    newRollout(soaked, approvals(3)),
	} {
		t.Run(name, func(t *testing.T) { wantGolden(t, name, describe(r, noon, defaultWidth)+"\n") })
	}
}

// TestWaitingFor wants what the server's own column has, which is the gate as of now and not as of the last change.
func TestWaitingFor(t *testing.T) {
	pauses := func(r *v1alpha1.Rollout) { r.Spec.Steps[1].Gate.Pause = true }
	tests := []struct {
		name string
		r    *v1alpha1.Rollout
		want v1alpha1.RolloutWait
	}{
		{"nothing yet", newRollout(notStarted), v1alpha1.WaitStart},
		{"soak", newRollout(), v1alpha1.WaitSoak},
		{"soak is over", newRollout(soaked), v1alpha1.WaitAdvance},
		{"soak is over, automatic", newRollout(soaked, automatic), v1alpha1.WaitStep},
		{"soak is over, automatic with a pause", newRollout(soaked, automatic, pauses), v1alpha1.WaitAdvance},
		{"soak is over, one approval of two", newRollout(soaked, automatic, approvals(2)), v1alpha1.WaitApproval},
		{"soak is over, all approvals", newRollout(soaked, approvals(1)), v1alpha1.WaitAdvance},
		{"paused", newRollout(paused), v1alpha1.WaitResume},
		{"stopped", newRollout(troubled), v1alpha1.WaitRetry},
		{"complete", newRollout(ended(v1alpha1.RolloutCompleted)), ""},
	}
	for _, test := range tests {
		if got := waitingFor(test.r, noon); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestHistory(t *testing.T) {
	r := newRollout(func(r *v1alpha1.Rollout) {
		move := func(ago time.Duration, verb, user, step string, phase v1alpha1.RolloutPhase, revision int64, reason string) {
			r.Status.Transitions = append(r.Status.Transitions, v1alpha1.RolloutTransition{
				Time: before(ago), Verb: verb, User: user, Step: step, Phase: phase, Revision: revision, Reason: reason})
		}
		move(50*time.Hour, "advance", "ann", "p10", v1alpha1.RolloutProgressing, 1, "")
		move(3*time.Hour, "approve", "system:serviceaccount:ci:release-bot", "p10", v1alpha1.RolloutProgressing, 1, "tests\npassed")
		move(13*time.Minute, "step", "binnacle.dev/automatic", "p25", v1alpha1.RolloutProgressing, 2, "")
	})
	wantGolden(t, "history", describeHistory(r, noon))
	r.Status.BaseRevision, r.Status.Revision = 2, 3
	wantGolden(t, "history-base", describeHistory(r, noon))
	wantGolden(t, "history-none", describeHistory(newRollout(notStarted), noon))
}

func TestPreview(t *testing.T) {
	refs := func(names ...string) (all []v1alpha1.ClusterReference) {
		for _, name := range names {
			all = append(all, v1alpha1.ClusterReference{Name: name})
		}
		return all
	}
	p := &v1alpha1.RolloutPreview{Metadata: metav1.ObjectMeta{Name: "web", Namespace: "fleet"}, Status: v1alpha1.RolloutPreviewStatus{
		Step: "p75", FromStep: "p25", FromRevision: 2, Targets: 40, Planned: 30,
		Added:   refs("c10", "c11", "store-hamburg-altona-12", "c13", "c14", "c15", "c16", "c17", "c18"),
		Removed: refs("old"), Held: []v1alpha1.ClusterReference{{Namespace: "edge", Name: "c20"}}, Skipped: refs("gone"), LeftOut: refs("new"),
		EmptySteps: []string{"ring"}, Blockers: []string{"the gate waits for Soak"},
	}}
	wantGolden(t, "preview", describePreview(p)+"\n")
	p.Status = v1alpha1.RolloutPreviewStatus{Step: "p10"}
	wantGolden(t, "preview-nobody", describePreview(p)+"\n")
}

// TestScreen shows the same changes on a terminal and in a pipe.
func TestScreen(t *testing.T) {
	changes := []*v1alpha1.Rollout{newRollout(notStarted), newRollout(), newRollout(), newRollout(soaked, automatic), newRollout(troubled)}
	out := &bytes.Buffer{}
	pipe := &screen{out: out, width: defaultWidth}
	for i, r := range changes {
		pipe.show(r, noon.Add(time.Duration(i)*time.Second))
	}
	wantGolden(t, "follow", out.String())

	out.Reset()
	terminal := &screen{out: out, width: 40, terminal: true}
	for _, r := range changes[1:3] {
		terminal.show(r, noon)
	}
	first := out.String()
	if want := describe(changes[1], noon, 40) + "\n"; first != want {
		t.Errorf("drew %q, want %q once", first, want)
	}
	out.Reset()
	terminal.show(changes[0], noon)
	if want := "\x1b[7A\x1b[J" + describe(changes[0], noon, 40) + "\n"; out.String() != want {
		t.Errorf("drew %q, want it over the seven lines before: %q", out, want)
	}
	out.Reset()
	said := &bytes.Buffer{}
	terminal.above(said, "Connection lost")
	terminal.show(changes[0], noon)
	if diff := cmp.Diff(describe(changes[0], noon, 40)+"\n", out.String()); diff != "" || said.String() != "Connection lost\n" {
		t.Errorf("after %q, drew (-want +got):\n%s", said, diff)
	}
}

// TestPhaseTellsWhatBlocks wants the phase to say what is in the way, and not what the counts say already.
func TestPhaseTellsWhatBlocks(t *testing.T) {
	for want, condition := range map[string]metav1.Condition{
		"Progressing (NameTaken: delete app-1)": {Type: v1alpha1.ConditionBlocked, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonNameTaken, Message: "delete app-1"},
		"Progressing (many went silent)":        {Type: v1alpha1.ConditionHeld, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonMassSilence, Message: "many went silent"},
		"Progressing":                           {Type: v1alpha1.ConditionHeld, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonTerminating, Message: "c1"},
	} {
		rollout := newRollout(func(r *v1alpha1.Rollout) { r.Status.Conditions = []metav1.Condition{condition} })
		if got := phaseText(rollout); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
