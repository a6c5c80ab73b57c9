package rollout_test

import (
	"testing"

	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/rollout"
)

// TestTerminatingIsNeverLetIn has ClusterProfiles be deleted before the run and in the middle of it, each way to go on, and wants the run to
// complete around them.
func TestTerminatingIsNeverLetIn(t *testing.T) {
	for _, disconnected := range []binnacle.DisconnectedPolicy{binnacle.DisconnectedHold, binnacle.DisconnectedInclude} {
		for _, drift := range []binnacle.DriftPolicy{binnacle.DriftFreeze, binnacle.DriftFollow, binnacle.DriftAppendToLast} {
			w := newWorld(t, 6, count(1), percent(100))
			w.rollout.Spec.Disconnected, w.rollout.Spec.Drift = disconnected, drift
			w.target("store-00").Terminating = true
			w.do(binnacle.VerbAdvance)
			w.is(binnacle.RolloutProgressing, "c1", 1, binnacle.WaitAdvance)
			if n := len(w.rollout.Status.Clusters); n != 5 {
				t.Fatalf("%s, %s: %d targets, want all but one that is being deleted", disconnected, drift, n)
			}
			in, waits := w.in()[0], w.rollout.Status.Clusters[4].Name
			w.target(in).Terminating, w.target(waits).Terminating = true, true
			w.tick()
			if c := w.cluster(waits); c.State != binnacle.ClusterHeld || c.Reason != binnacle.ReasonTerminating {
				t.Errorf("%s, %s: one that waits is %s, %q", disconnected, drift, c.State, c.Reason)
			}
			if c := w.condition(binnacle.ConditionHeld); c.Reason != binnacle.ReasonTerminating {
				t.Errorf("%s, %s: the condition is %+v", disconnected, drift, c)
			}
			w.do(binnacle.VerbAdvance)
			w.is(binnacle.RolloutCompleted, "p100", 4, "")
			if w.tick(); len(w.in()) != 4 {
				t.Errorf("%s, %s: in are %v", disconnected, drift, w.in())
			}
			if reason := w.try(binnacle.VerbAdvance, rollout.Request{}); reason != rollout.ReasonUnchanged {
				t.Errorf("%s, %s: a new run for those that are being deleted: %q", disconnected, drift, reason)
			}
			w.remove(in)
			w.remove(waits)
			w.tick()
			w.is(binnacle.RolloutCompleted, "p100", 3, "")
			if c := w.rollout.Status.Counts; c.Held != 0 || w.condition(binnacle.ConditionHeld).Status != "False" {
				t.Errorf("%s, %s: once they are gone: %+v", disconnected, drift, c)
			}
		}
	}
}

// TestTerminatingHoldsUpNoStep has all clusters of a ring be deleted: the run goes on by itself, and is complete without the last step.
func TestTerminatingHoldsUpNoStep(t *testing.T) {
	w := newWorld(t, 3, ring("a"), ring("b"), percent(100))
	w.rollout.Spec.Progression = binnacle.ProgressionAutomatic
	for i, value := range []string{"a", "b", "b"} {
		w.targets[i].Labels["ring"] = value
	}
	w.rollout.Spec.Steps[0].Gate = &binnacle.RolloutGate{Approval: ptr.To[int32](1)}
	w.do(binnacle.VerbAdvance)
	w.targets[1].Terminating, w.targets[2].Terminating = true, true
	w.tick()
	w.is(binnacle.RolloutCompleted, "a", 1, "")
}

// TestTerminatingDoesNotComeBack goes back to a revision with a cluster that is being deleted.
func TestTerminatingDoesNotComeBack(t *testing.T) {
	w := newWorld(t, 2, percent(50), percent(100))
	w.rollout.Spec.Drift = binnacle.DriftFollow
	w.do(binnacle.VerbPromote)
	w.target("store-00").Selected = false
	w.tick()
	w.target("store-00").Terminating = true
	if reason := w.try(binnacle.VerbRollback, rollout.Request{RolloutActionSpec: binnacle.RolloutActionSpec{ToRevision: ptr.To[int64](1)}}); reason != "" {
		t.Fatal(reason)
	}
	w.is(binnacle.RolloutRolledBack, "p100", 1, "")
}
