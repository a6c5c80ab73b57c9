package rollout_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/rollout"
)

// TestFreeze is a fleet that changes half-way: the set is as it was at the start, but for who is deleted; a new run picks up the rest.
func TestFreeze(t *testing.T) {
	w := newWorld(t, 10, percent(30), percent(60), percent(100))
	w.do(binnacle.VerbAdvance)
	pending := w.rollout.Status.Clusters[9].Name
	w.remove(pending)
	w.add("new-b")
	w.add("new-a")
	unselected := w.in()[0]
	w.target(unselected).Selected = false
	if n := w.tick(); n != 1 {
		t.Errorf("%d changes", n)
	}
	if c := w.cluster(pending); c.State != binnacle.ClusterSkipped || c.Reason != binnacle.ReasonGone {
		t.Errorf("the deleted cluster is %+v", c)
	}
	if diff := cmp.Diff([]binnacle.ClusterReference{{Name: "new-a"}, {Name: "new-b"}}, w.rollout.Status.LeftOut); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	if c := w.condition(binnacle.ConditionDrifted); c.Status != "True" || w.rollout.Status.Revision != 1 {
		t.Errorf("condition %+v at revision %d", c, w.rollout.Status.Revision)
	}
	w.do(binnacle.VerbAdvance)
	w.is(binnacle.RolloutProgressing, "p60", 6, binnacle.WaitAdvance)
	w.do(binnacle.VerbAdvance)
	w.is(binnacle.RolloutCompleted, "p100", 9, "")
	if counts := w.rollout.Status.Counts; counts.Targets != 10 || counts.Skipped != 1 || counts.LeftOut != 2 {
		t.Errorf("counts %+v", counts)
	}

	w.do(binnacle.VerbAdvance)
	if in := w.in(); len(in) != 10 || w.rollout.Status.Phase != binnacle.RolloutCompleted {
		t.Fatalf("the new run is %s with %v", w.rollout.Status.Phase, in)
	}
	if c := w.cluster(unselected); c.State != binnacle.ClusterSkipped || rollout.IsThrough(c) {
		t.Errorf("who is no target of the new run is %+v", c)
	}
}

// TestWhoIsThroughAndDeletedLeaves at once, whatever the policy, and also after the end.
func TestWhoIsThroughAndDeletedLeaves(t *testing.T) {
	for _, drift := range []binnacle.DriftPolicy{binnacle.DriftFreeze, binnacle.DriftFollow, binnacle.DriftAppendToLast} {
		for _, phase := range rollout.Phases[1:] {
			t.Run(string(drift)+"/"+string(phase), func(t *testing.T) {
				w := at(t, phase)
				w.rollout.Spec.Drift = drift
				w.tick()
				in, revision := w.in(), w.rollout.Status.Revision
				if len(in) == 0 {
					return
				}
				w.remove(in[0])
				if n := w.tick(); n != 1 {
					t.Errorf("%d changes", n)
				}
				if got := w.in(); slices.Contains(got, in[0]) || len(got) != len(in)-1 || w.rollout.Status.Revision != revision+1 || w.rollout.Status.Phase != phase {
					t.Errorf("%s, revision %d, %v; before %d, %v", w.rollout.Status.Phase, w.rollout.Status.Revision, got, revision, in)
				}
			})
		}
	}
}

// TestFollow lets who joins take its place, and who leaves go.
func TestFollow(t *testing.T) {
	w := newWorld(t, 10, percent(20), percent(50), percent(100))
	w.rollout.Spec.Drift = binnacle.DriftFollow
	w.do(binnacle.VerbAdvance)
	before := w.rollout.Status.Clusters
	for i := range 10 {
		w.add(fmt.Sprint("new-", i))
	}
	w.tick()
	w.is(binnacle.RolloutProgressing, "p20", 2, binnacle.WaitAdvance)
	var old []string
	for i, c := range w.rollout.Status.Clusters {
		if c.Name[:3] == "sto" {
			old = append(old, c.Name)
		} else if i < 2 {
			t.Errorf("%s is before who is in", c.Name)
		}
	}
	for i, c := range before {
		if old[i] != c.Name {
			t.Errorf("the order of who was there changed: %v", old)
			break
		}
	}
	fresh := newWorld(t, 0, percent(100))
	fresh.targets = w.targets
	fresh.do(binnacle.VerbAdvance)
	want := slices.DeleteFunc(fresh.in(), func(name string) bool { return slices.Contains(w.in(), name) })
	var waiting []string
	for _, c := range w.rollout.Status.Clusters[2:] {
		waiting = append(waiting, c.Name)
	}
	if diff := cmp.Diff(want, waiting); diff != "" {
		t.Errorf("who waits is not in the order of the spec (-want +got):\n%s", diff)
	}
	gone := w.in()[0]
	w.target(gone).Selected = false
	w.tick()
	w.is(binnacle.RolloutProgressing, "p20", 1, binnacle.WaitAdvance)
	if counts := w.rollout.Status.Counts; counts.Targets != 19 || counts.LeftOut != 0 {
		t.Errorf("counts %+v", counts)
	}
	w.do(binnacle.VerbAdvance)
	w.is(binnacle.RolloutProgressing, "p50", 10, binnacle.WaitAdvance) // Half of 19.
	w.do(binnacle.VerbAdvance)
	w.is(binnacle.RolloutCompleted, "p100", 19, "")
	w.target(gone).Selected = true
	w.add("latest")
	w.tick()
	w.is(binnacle.RolloutCompleted, "p100", 21, "")
}

// TestNoTargetsAreNotFollowed keeps the decision while a producer has none.
func TestNoTargetsAreNotFollowed(t *testing.T) {
	w := newWorld(t, 10, percent(50), percent(100))
	w.rollout.Spec.Drift = binnacle.DriftFollow
	w.do(binnacle.VerbAdvance)
	for i := range w.targets {
		w.targets[i].Selected = false
	}
	if n := w.tick(); n != 0 {
		t.Error("a tick followed to nothing")
	}
	w.is(binnacle.RolloutProgressing, "p50", 5, binnacle.WaitAdvance)
	w.targets[0].Selected = true
	w.tick()
	if n := len(w.in()); n > 1 {
		t.Errorf("%d are in, and one is selected", n)
	}
}

// TestAppendToLast lets who joins in with the last step, and leaves the percentages as they are.
func TestAppendToLast(t *testing.T) {
	w := newWorld(t, 10, percent(20), percent(50), ring("eu"), percent(100))
	w.rollout.Spec.Drift = binnacle.DriftAppendToLast
	w.do(binnacle.VerbAdvance)
	for i := range 10 {
		w.add(fmt.Sprint("new-", i))
		w.target(fmt.Sprint("new-", i)).Labels = labels.Set{"ring": "eu"}
	}
	w.target(w.in()[0]).Selected = false
	w.tick()
	w.do(binnacle.VerbAdvance)
	w.is(binnacle.RolloutProgressing, "p50", 5, binnacle.WaitAdvance)
	if c := w.cluster("new-3"); c.State != binnacle.ClusterPending || c.Reason != binnacle.ReasonJoined {
		t.Errorf("who joined is %+v", c)
	}
	w.do(binnacle.VerbAdvance)
	w.is(binnacle.RolloutCompleted, "p100", 20, "")
	if c := w.cluster("new-3"); c.Reason != "" {
		t.Errorf("who joined is %+v", c)
	}
}

// TestComingAndGoing leaves nothing behind, however long it goes on.
func TestComingAndGoing(t *testing.T) {
	for _, drift := range []binnacle.DriftPolicy{binnacle.DriftFollow, binnacle.DriftAppendToLast} {
		for _, advances := range []int{1, 2} {
			t.Run(fmt.Sprint(drift, advances), func(t *testing.T) {
				w := newWorld(t, 10, percent(50), percent(100))
				w.rollout.Spec.Drift = drift
				for range advances {
					w.do(binnacle.VerbAdvance)
				}
				for i := range 50 {
					name := fmt.Sprint("guest-", i)
					w.add(name)
					w.tick()
					w.remove(name)
					w.tick()
				}
				if status := w.rollout.Status; len(status.Clusters) != 10 || status.Counts.Targets != 10 {
					t.Errorf("%d clusters, counts %+v", len(status.Clusters), status.Counts)
				}
			})
		}
	}
}

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

// TestPreview says what the verbs then do, and changes nothing.
func TestPreview(t *testing.T) {
	w := newWorld(t, 10, percent(10, approval(1)), ring("none"), percent(50), percent(100))
	preview := func(step string) binnacle.RolloutPreviewStatus {
		before := w.rollout.DeepCopy()
		got, err := rollout.Preview(w.input(), step)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, w.rollout); diff != "" {
			t.Fatalf("a preview changed (-before +after):\n%s", diff)
		}
		return got
	}
	first := preview("")
	if first.Step != "p10" || len(first.Added) != 1 || first.Targets != 10 || first.Planned != 1 || first.FromStep != "" || len(first.Blockers) != 0 {
		t.Errorf("first: %+v", first)
	}
	later := preview("p50")
	if later.Step != "p50" || len(later.Added) != 5 || later.Added[0] != first.Added[0] || !slices.Equal(later.EmptySteps, []string{"none"}) {
		t.Errorf("later: %+v", later)
	}
	if empty := preview("none"); empty.Step != "none" || len(empty.Added) != 1 || !slices.Equal(empty.EmptySteps, []string{"none"}) {
		t.Errorf("empty: %+v", empty)
	}
	w.do(binnacle.VerbAdvance)
	w.target(later.Added[2].Name).Connected = false
	w.remove(later.Added[3].Name)
	next := preview("")
	if next.Step != "p50" || len(next.Added) != 4 || len(next.Held) != 1 || len(next.Skipped) != 1 || next.FromRevision != 1 || len(next.Blockers) != 1 {
		t.Errorf("next: %+v", next)
	}
	w.try(binnacle.VerbApprove, rollout.Request{Actor: rollout.Actor{User: "ben"}})
	before := w.in()
	w.do(binnacle.VerbAdvance)
	var added []binnacle.ClusterReference
	for _, name := range w.in() {
		if !slices.Contains(before, name) {
			added = append(added, binnacle.ClusterReference{Name: name})
		}
	}
	if diff := cmp.Diff(next.Added, added); diff != "" {
		t.Errorf("the advance differs from its preview (-preview +advance):\n%s", diff)
	}
	for _, step := range []string{"p10", "p50", "nowhere"} {
		if _, err := rollout.Preview(w.input(), step); w.reason(err) != rollout.ReasonNoSuchStep {
			t.Errorf("%s: %v", step, err)
		}
	}
}
