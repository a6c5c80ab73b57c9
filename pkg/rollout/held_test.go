package rollout_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/rollout"
)

// TestHeld passes over who does not report, and lets it in when it does.
func TestHeld(t *testing.T) {
	w := newWorld(t, 10, percent(20, soak(time.Hour)), percent(50), percent(100))
	order := func() []string {
		x := newWorld(t, 10, percent(100))
		x.do(binnacle.VerbAdvance)
		return x.in()
	}()
	w.target(order[0]).Connected, w.target(order[0]).Reason = false, "Unreachable"
	w.do(binnacle.VerbAdvance)
	if diff := cmp.Diff(order[1:3], w.in()); diff != "" {
		t.Errorf("first step (-want +got):\n%s", diff)
	}
	if c := w.cluster(order[0]); c.State != binnacle.ClusterHeld || c.Reason != "Unreachable" || w.condition(binnacle.ConditionHeld).Reason != binnacle.ReasonDisconnected {
		t.Errorf("held: %+v, %+v", c, w.rollout.Status.Conditions)
	}
	w.target(order[0]).Connected = true
	w.tick()
	w.is(binnacle.RolloutProgressing, "p20", 2, binnacle.WaitSoak) // The step is full.
	w.after(time.Hour)
	w.target(order[5]).Connected = false
	w.target(order[9]).Connected = false
	w.do(binnacle.VerbAdvance)
	if diff := cmp.Diff(order[:5], w.in()); diff != "" {
		t.Errorf("second step (-want +got):\n%s", diff)
	}
	w.do(binnacle.VerbAdvance)
	w.is(binnacle.RolloutCompleted, "p100", 8, "")
	if counts := w.rollout.Status.Counts; counts.Held != 2 || counts.Pending != 0 {
		t.Errorf("counts %+v", counts)
	}
	w.target(order[9]).Connected = true
	w.tick()
	w.is(binnacle.RolloutCompleted, "p100", 9, "")
}

// TestStepOfHeldClustersWaits, so that no step is passed for want of canaries; as they come back, they fill it.
func TestStepOfHeldClustersWaits(t *testing.T) {
	for _, progression := range []binnacle.Progression{binnacle.ProgressionManual, binnacle.ProgressionAutomatic} {
		t.Run(string(progression), func(t *testing.T) {
			w := newWorld(t, 10, percent(10), percent(50, success), percent(100))
			w.rollout.Spec.Progression = progression
			w.do(binnacle.VerbAdvance)
			for i := range w.targets {
				w.targets[i].Connected = false
			}
			w.tick()
			want := binnacle.WaitAdvance
			if progression == binnacle.ProgressionAutomatic {
				want = binnacle.WaitStep
				if w.condition(binnacle.ConditionHeld).Status != "True" || w.next != nil {
					t.Errorf("conditions %+v, next %v", w.rollout.Status.Conditions, w.next)
				}
			}
			w.is(binnacle.RolloutProgressing, "p10", 1, want)
			if reason := w.try(binnacle.VerbAdvance, rollout.Request{}); reason != binnacle.ReasonDisconnected {
				t.Errorf("advance: %q", reason)
			}
			w.target(w.rollout.Status.Clusters[2].Name).Connected = true
			w.tick()
			if progression == binnacle.ProgressionManual {
				w.do(binnacle.VerbAdvance)
			}
			w.is(binnacle.RolloutProgressing, "p50", 2, binnacle.WaitSuccess)
			for i := range w.targets {
				w.targets[i].Connected = true
			}
			w.tick()
			w.is(binnacle.RolloutProgressing, "p50", 5, binnacle.WaitSuccess)
		})
	}
}

// TestRingIsFilledByItsOwn lets nobody else into the room that a held cluster of a ring leaves.
func TestRingIsFilledByItsOwn(t *testing.T) {
	w := newWorld(t, 10, count(1), ring("dev"), percent(100))
	w.rollout.Spec.Order = &binnacle.RolloutOrder{Canaries: []binnacle.ClusterReference{{Name: "store-09"}, {Name: "store-08"}}}
	for _, name := range []string{"store-02", "store-03"} {
		w.target(name).Labels = labels.Set{"ring": "dev"}
	}
	w.target("store-09").Connected, w.target("store-03").Connected = false, false
	w.do(binnacle.VerbAdvance)
	w.do(binnacle.VerbAdvance)
	for _, test := range []struct {
		back string
		in   []string
	}{{"store-09", []string{"store-02", "store-08"}}, {"store-03", []string{"store-02", "store-03", "store-08"}}} {
		w.target(test.back).Connected = true
		w.tick()
		if diff := cmp.Diff(test.in, slices.Sorted(slices.Values(w.in()))); diff != "" {
			t.Errorf("after %s is back (-want +got):\n%s", test.back, diff)
		}
	}
	if c := w.condition(binnacle.ConditionHeld); c.Status != "True" {
		t.Errorf("condition %+v", c)
	}
}

// TestLastStepDoesNotWait for one that is gone for good: who is held then comes in later by itself.
func TestLastStepDoesNotWait(t *testing.T) {
	w := newWorld(t, 4, percent(75), percent(100))
	w.do(binnacle.VerbAdvance)
	dead := w.rollout.Status.Clusters[3].Name
	w.target(dead).Connected = false
	w.do(binnacle.VerbAdvance)
	w.is(binnacle.RolloutCompleted, "p100", 3, "")
	if c := w.condition(binnacle.ConditionHeld); c.Status != "True" || c.Message != "kept back since they do not report: "+dead {
		t.Errorf("condition %+v", c)
	}
	w.target(dead).Connected = true
	w.tick()
	w.is(binnacle.RolloutCompleted, "p100", 4, "")
}

func TestIncludeDisconnected(t *testing.T) {
	w := newWorld(t, 10, percent(10), percent(100))
	w.rollout.Spec.Disconnected = binnacle.DisconnectedInclude
	for i := range w.targets {
		w.targets[i].Connected = false
	}
	w.do(binnacle.VerbAdvance)
	w.do(binnacle.VerbAdvance)
	w.is(binnacle.RolloutCompleted, "p100", 10, "")
}

// TestMassSilence holds every step, by hand or not, but not the ways back.
func TestMassSilence(t *testing.T) {
	w := newWorld(t, 10, percent(10), percent(50), percent(100))
	w.rollout.Spec.Progression, w.rollout.Spec.Disconnected = binnacle.ProgressionAutomatic, binnacle.DisconnectedInclude
	w.silence = true
	if reason := w.try(binnacle.VerbAdvance, rollout.Request{}); reason != binnacle.ReasonMassSilence {
		t.Errorf("start: %q", reason)
	}
	w.silence = false
	w.do(binnacle.VerbAdvance)
	w.silence = true
	w.tick()
	w.is(binnacle.RolloutProgressing, "p10", 1, binnacle.WaitStep)
	if c := w.condition(binnacle.ConditionHeld); c.Status != "True" || c.Reason != binnacle.ReasonMassSilence || w.next != nil {
		t.Errorf("condition %+v, next %v", c, w.next)
	}
	for verb, want := range map[binnacle.RolloutVerb]string{binnacle.VerbAdvance: binnacle.ReasonMassSilence, binnacle.VerbAbort: "", binnacle.VerbPause: ""} {
		_, err := rollout.Apply(w.input(), rollout.Request{Verb: verb})
		if want == "" && err != nil || want != "" && w.reason(err) != want {
			t.Errorf("%s: %v", verb, err)
		}
	}
	w.silence = false
	w.tick()
	w.is(binnacle.RolloutCompleted, "p100", 10, "")
	if c := w.condition(binnacle.ConditionHeld); c.Status != "False" {
		t.Errorf("condition %+v", c)
	}
}
