package rollout_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/rollout"
)

// TestSoak takes a step when its time is over and not a second before, in the second run as in the first.
func TestSoak(t *testing.T) {
	w := newWorld(t, 10, percent(10, soak(time.Minute)), percent(100))
	w.now = start.Add(300 * time.Millisecond)
	for run := range 2 {
		w.do(binnacle.VerbAdvance)
		began := w.now
		w.is(binnacle.RolloutProgressing, "p10", 1+10*run, binnacle.WaitSoak)
		for _, d := range []time.Duration{0, time.Second, 58 * time.Second, 800 * time.Millisecond} {
			w.after(d)
			if reason := w.try(binnacle.VerbAdvance, rollout.Request{}); reason != rollout.ReasonGate {
				t.Fatalf("after %v: %q", w.now.Sub(began), reason)
			}
		}
		w.after(2 * time.Second)
		if n := w.tick(); n != 0 {
			t.Errorf("a tick changed %d times though only time passed", n)
		}
		w.is(binnacle.RolloutProgressing, "p10", 1+10*run, binnacle.WaitAdvance)
		w.do(binnacle.VerbAdvance)
		w.is(binnacle.RolloutCompleted, "p100", 10+10*run, "")
		for i := range 10 {
			w.add("more-" + string(rune('a'+i)))
		}
		w.rollout.Spec.Steps[0] = count(11, soak(time.Minute))
		w.rollout.Spec.Steps[0].Name = "p10"
	}
}

// TestPauseHaltsTheSoak neither skips it nor begins it anew.
func TestPauseHaltsTheSoak(t *testing.T) {
	w := newWorld(t, 10, percent(10, soak(time.Minute)), percent(100))
	w.rollout.Spec.Progression = binnacle.ProgressionAutomatic
	w.do(binnacle.VerbAdvance)
	if !w.next.Time.Equal(start.Add(time.Minute)) {
		t.Errorf("next at %v", w.next)
	}
	w.after(20 * time.Second)
	w.do(binnacle.VerbPause)
	w.is(binnacle.RolloutPaused, "p10", 1, binnacle.WaitResume)
	if w.next != nil {
		t.Errorf("next at %v though it is paused", w.next)
	}
	w.after(time.Hour)
	if n := w.tick(); n != 0 {
		t.Error("a tick changed what is paused")
	}
	w.do(binnacle.VerbResume)
	w.is(binnacle.RolloutProgressing, "p10", 1, binnacle.WaitSoak)
	w.after(39 * time.Second)
	w.tick()
	w.is(binnacle.RolloutProgressing, "p10", 1, binnacle.WaitSoak)
	w.after(time.Second)
	w.tick()
	w.is(binnacle.RolloutCompleted, "p100", 10, "")
	if who := w.rollout.Status.Transitions; who[len(who)-2].Verb != "step" || who[len(who)-2].User != rollout.Automatic {
		t.Errorf("transitions %+v", who)
	}
}

// TestAutomaticTakesOneStepATick though no gate holds it.
func TestAutomaticTakesOneStepATick(t *testing.T) {
	w := newWorld(t, 10, percent(10), percent(50, binnacle.RolloutGate{Pause: true}), percent(60), percent(100))
	w.rollout.Spec.Progression = binnacle.ProgressionAutomatic
	if n := w.tick(); n != 0 {
		t.Error("a tick started it")
	}
	w.do(binnacle.VerbAdvance)
	for _, want := range []int{1, 5, 5} {
		if got := len(w.in()); got != want {
			t.Errorf("%d in, want %d", got, want)
		}
		if result := rollout.Tick(w.input()); result.Changed {
			w.store(result)
		}
	}
	w.is(binnacle.RolloutProgressing, "p50", 5, binnacle.WaitAdvance)
	w.do(binnacle.VerbAdvance)
	if w.next == nil || !w.next.Time.Equal(w.now) {
		t.Errorf("next at %v, want now", w.next)
	}
	w.tick()
	w.is(binnacle.RolloutCompleted, "p100", 10, "")
}

// TestApprovals wants distinct people, never who started the run.
func TestApprovals(t *testing.T) {
	w := newWorld(t, 10, percent(10, approval(2)), percent(50), percent(100))
	w.do(binnacle.VerbAdvance)
	as := func(user string) string {
		return w.try(binnacle.VerbApprove, rollout.Request{Actor: rollout.Actor{User: user}, RolloutActionSpec: binnacle.RolloutActionSpec{Reason: "looks good"}})
	}
	for _, test := range []struct{ user, want string }{
		{"ann", rollout.ReasonApprover}, {"ben", ""}, {"ben", rollout.ReasonApprover}, {"ann", rollout.ReasonApprover}} {
		if got := as(test.user); got != test.want {
			t.Errorf("approval of %s: %q, want %q", test.user, got, test.want)
		}
	}
	w.is(binnacle.RolloutProgressing, "p10", 1, binnacle.WaitApproval)
	if reason := w.try(binnacle.VerbAdvance, rollout.Request{}); reason != rollout.ReasonGate {
		t.Errorf("advance with one of two approvals: %q", reason)
	}
	if reason := as("cem"); reason != "" {
		t.Error(reason)
	}
	if reason := as("dee"); reason != rollout.ReasonNoApproval {
		t.Errorf("a third approval: %q", reason)
	}
	w.is(binnacle.RolloutProgressing, "p10", 1, binnacle.WaitAdvance)
	var users []string
	for _, a := range w.rollout.Status.Step.Approvals {
		users = append(users, a.User)
	}
	if diff := cmp.Diff([]string{"ben", "cem"}, users); diff != "" {
		t.Error(diff)
	}
	w.do(binnacle.VerbAdvance)
	if reason := as("eve"); reason != rollout.ReasonNoApproval || len(w.rollout.Status.Step.Approvals) != 0 {
		t.Errorf("approval of a step without that gate: %q", reason)
	}
}

// TestNobodyIsAskedForNothing completes without approval where no step that is left has anything to do, after success and soak.
func TestNobodyIsAskedForNothing(t *testing.T) {
	gate := binnacle.RolloutGate{Approval: ptr.To[int32](2), Pause: true, Success: true, Soak: &metav1.Duration{Duration: time.Minute}}
	w := newWorld(t, 3, percent(50), percent(75, gate), ring("none"), percent(100))
	w.do(binnacle.VerbAdvance)
	w.do(binnacle.VerbAdvance)
	w.is(binnacle.RolloutProgressing, "p75", 3, binnacle.WaitSuccess)
	w.succeed(w.in()...)
	w.is(binnacle.RolloutProgressing, "p75", 3, binnacle.WaitSoak)
	if reason := w.try(binnacle.VerbAdvance, rollout.Request{}); reason != rollout.ReasonNoStep {
		t.Errorf("advance: %q", reason)
	}
	w.after(time.Minute)
	w.tick()
	w.is(binnacle.RolloutCompleted, "p75", 3, "")
}

// TestSuccessThenSoak counts the soak from when all were settled; no report is no success.
func TestSuccessThenSoak(t *testing.T) {
	w := newWorld(t, 4, percent(50, binnacle.RolloutGate{Success: true, Soak: &metav1.Duration{Duration: time.Minute}}), percent(100, success))
	w.do(binnacle.VerbAdvance)
	first, second := w.in()[0], w.in()[1]
	w.after(time.Hour)
	w.tick()
	w.is(binnacle.RolloutProgressing, "p50", 2, binnacle.WaitSuccess)
	w.succeed(first)
	w.is(binnacle.RolloutProgressing, "p50", 2, binnacle.WaitSuccess)
	w.succeed(second)
	w.is(binnacle.RolloutProgressing, "p50", 2, binnacle.WaitSoak)
	w.after(time.Minute)
	w.do(binnacle.VerbAdvance)
	w.is(binnacle.RolloutProgressing, "p100", 4, binnacle.WaitSuccess)
	w.succeed(w.in()...)
	w.is(binnacle.RolloutCompleted, "p100", 4, "")
}

// TestSuccessIsOfTheRun does not wait for who was through before it.
func TestSuccessIsOfTheRun(t *testing.T) {
	w := newWorld(t, 4, percent(100))
	w.do(binnacle.VerbAdvance)
	w.add("new")
	w.rollout.Spec.Steps[0].Gate = &success
	w.do(binnacle.VerbAdvance)
	w.is(binnacle.RolloutProgressing, "p100", 5, binnacle.WaitSuccess)
	w.succeed("new")
	w.is(binnacle.RolloutCompleted, "p100", 5, "")
}

// TestProgressDeadline stops what is not settled in time. Paused time does not count; retry begins it anew.
func TestProgressDeadline(t *testing.T) {
	w := newWorld(t, 4, percent(50, success), percent(100))
	w.rollout.Spec.ProgressDeadline = &metav1.Duration{Duration: time.Minute}
	w.do(binnacle.VerbAdvance)
	w.after(30 * time.Second)
	w.do(binnacle.VerbPause)
	w.after(time.Hour)
	w.do(binnacle.VerbResume)
	w.after(29 * time.Second)
	w.tick()
	w.is(binnacle.RolloutProgressing, "p50", 2, binnacle.WaitSuccess)
	w.after(time.Second)
	w.tick()
	w.is(binnacle.RolloutStopped, "p50", 2, binnacle.WaitRetry)
	if c := w.condition(binnacle.ConditionStopped); c.Reason != binnacle.ReasonDeadlineExceeded {
		t.Errorf("condition %+v", c)
	}
	w.do(binnacle.VerbRetry)
	w.is(binnacle.RolloutProgressing, "p50", 2, binnacle.WaitSuccess)
	w.after(59 * time.Second)
	w.succeed(w.in()...)
	w.after(time.Hour)
	w.tick()
	w.is(binnacle.RolloutProgressing, "p50", 2, binnacle.WaitAdvance)
}

// TestDeadlineOfAChangedSpec begins where there was none, and ends where there is none any more.
func TestDeadlineOfAChangedSpec(t *testing.T) {
	w := newWorld(t, 4, percent(50, success), percent(100))
	w.do(binnacle.VerbAdvance)
	w.after(time.Hour)
	w.rollout.Spec.ProgressDeadline = &metav1.Duration{Duration: time.Minute}
	w.tick()
	if !w.next.Time.Equal(w.now.Add(time.Minute)) {
		t.Errorf("next at %v", w.next)
	}
	w.rollout.Spec.ProgressDeadline = nil
	w.after(time.Hour)
	w.tick()
	w.is(binnacle.RolloutProgressing, "p50", 2, binnacle.WaitSuccess)
}

func (w *world) condition(kind string) metav1.Condition {
	for _, c := range w.rollout.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return metav1.Condition{}
}

// TestFailureBudget stops beyond the budget, names the clusters, and stays so until retry.
func TestFailureBudget(t *testing.T) {
	w := newWorld(t, 10, percent(50), percent(100))
	w.rollout.Spec.FailureBudget = &binnacle.RolloutBudget{Percent: ptr.To[int32](29)} // 2.9 clusters are 2.
	w.do(binnacle.VerbAdvance)
	in := w.in()
	w.fail(in[0], in[1])
	w.succeed(in[2])
	w.is(binnacle.RolloutProgressing, "p50", 5, binnacle.WaitAdvance)
	w.do(binnacle.VerbPause)
	w.fail(in[2])
	w.is(binnacle.RolloutStopped, "p50", 5, binnacle.WaitRetry)
	if c := w.condition(binnacle.ConditionStopped); c.Reason != binnacle.ReasonBudgetExceeded ||
		c.Message != "3 failed, more than the failure budget of 2: "+in[0]+", "+in[1]+", "+in[2] {
		t.Errorf("condition %+v", c)
	}
	w.do(binnacle.VerbResume)
	w.is(binnacle.RolloutStopped, "p50", 5, binnacle.WaitRetry)
	w.do(binnacle.VerbPause)
	w.succeed(in[2])
	w.is(binnacle.RolloutStopped, "p50", 5, binnacle.WaitRetry)

	old := w.rollout.Status.Revision
	some := rollout.Request{RolloutActionSpec: binnacle.RolloutActionSpec{Clusters: []binnacle.ClusterReference{{Name: in[0], Namespace: "fleet"}}}}
	if reason := w.try(binnacle.VerbRetry, some); reason != "" {
		t.Fatal(reason)
	}
	w.is(binnacle.RolloutPaused, "p50", 5, binnacle.WaitResume)
	if w.cluster(in[0]).State != binnacle.ClusterIn || w.cluster(in[1]).State != binnacle.ClusterFailed || w.rollout.Status.Revision != old+1 {
		t.Errorf("after retry of one: %+v, revision %d", w.rollout.Status.Clusters[:3], w.rollout.Status.Revision)
	}
	if reason := w.try(binnacle.VerbRetry, some); reason != rollout.ReasonNotFailed {
		t.Errorf("retry of one that did not fail: %q", reason)
	}
	some = rollout.Request{Verb: binnacle.VerbRetry, RolloutActionSpec: binnacle.RolloutActionSpec{Clusters: []binnacle.ClusterReference{
		{Name: in[1]}, {Name: "nobody"}, {Name: in[2], Namespace: "fleet"}}}}
	if _, err := rollout.Apply(w.input(), some); err == nil || w.reason(err) != rollout.ReasonNotFailed || !strings.Contains(err.Error(), "these did not fail: fleet/nobody, fleet/"+in[2]+" (") {
		t.Errorf("retry of some that did not fail: %v", err)
	}
	w.do(binnacle.VerbAbort)
	if reason := w.try(binnacle.VerbRetry, some); reason != rollout.ReasonPhase {
		t.Errorf("retry of single clusters of one that was ended: %q", reason)
	}
}
