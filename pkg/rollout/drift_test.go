package rollout_test

import (
	"fmt"
	"slices"
	"testing"

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

// TestNobodyLeavesASuspectHub keeps who is not selected any more while many clusters are silent: what is known of them is old.
func TestNobodyLeavesASuspectHub(t *testing.T) {
	w := newWorld(t, 4, percent(100))
	w.rollout.Spec.Drift = binnacle.DriftFollow
	w.do(binnacle.VerbAdvance)
	w.silence = true
	w.target("store-01").Selected = false
	w.remove("store-02")
	w.tick()
	if in := w.in(); len(in) != 3 || !slices.Contains(in, "store-01") {
		t.Errorf("while the hub is suspect: %v", in)
	}
	w.silence = false
	w.tick()
	if in := w.in(); len(in) != 2 || slices.Contains(in, "store-01") {
		t.Errorf("afterwards: %v", in)
	}
}

// TestAnotherPlanWaitsForAPerson changes the targets of a complete rollout that follows them: without an advance nobody comes in or goes, but
// for who is deleted.
func TestAnotherPlanWaitsForAPerson(t *testing.T) {
	w := newWorld(t, 4, percent(100))
	w.rollout.Spec.Drift = binnacle.DriftFollow
	w.do(binnacle.VerbAdvance)
	w.rollout.Spec.Targets.Selector.Expression = "false || true"
	w.add("more")
	w.target("store-00").Selected = false
	w.remove("store-03")
	w.tick()
	if diff := cmp.Diff([]string{"store-00", "store-01", "store-02"}, slices.Sorted(slices.Values(w.in()))); diff != "" {
		t.Errorf("before an advance (-want +got):\n%s", diff)
	}
	w.do(binnacle.VerbAdvance)
	if diff := cmp.Diff([]string{"more", "store-01", "store-02"}, slices.Sorted(slices.Values(w.in()))); diff != "" {
		t.Errorf("after it (-want +got):\n%s", diff)
	}
}

// TestLeftOutWhileNobodyIsSelected has the targets be no cluster for a while: that is not followed, and who waits for the next run waits still.
func TestLeftOutWhileNobodyIsSelected(t *testing.T) {
	w := newWorld(t, 4, percent(50), percent(100))
	w.do(binnacle.VerbAdvance)
	w.add("new")
	w.tick()
	for i := range w.targets {
		w.targets[i].Selected = false
	}
	if n := w.tick(); n != 0 || len(w.rollout.Status.LeftOut) != 1 || w.rollout.Status.Counts.LeftOut != 1 {
		t.Errorf("%d changes, left out are %v", n, w.rollout.Status.LeftOut)
	}
}

// TestTargetsThatAreNobody stop what is followed: nobody leaves, as a producer that fails is no order, and no step is taken with clusters of which
// nobody says any more that they are wanted.
func TestTargetsThatAreNobody(t *testing.T) {
	w := newWorld(t, 4, percent(50), percent(100))
	w.rollout.Spec.Drift, w.rollout.Spec.Progression = binnacle.DriftFollow, binnacle.ProgressionAutomatic
	w.do(binnacle.VerbAdvance)
	for _, c := range w.rollout.Status.Clusters {
		w.target(c.Name).Selected = false
	}
	w.tick()
	w.is(binnacle.RolloutProgressing, "p50", 2, binnacle.WaitStep)
	w.target(w.in()[0]).Selected = true
	w.tick()
	w.is(binnacle.RolloutCompleted, "p50", 1, "")
}
