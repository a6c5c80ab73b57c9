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

// TestSizesOfSteps is what each advance makes of a fleet. Percent rounds up, of the pinned targets; steps that add nobody are passed over.
func TestSizesOfSteps(t *testing.T) {
	tests := []struct {
		n    int
		plan []binnacle.RolloutStep
		want []int
	}{
		{40, steps(percent(10), percent(25), percent(75), percent(100)), []int{4, 10, 30, 40}},
		{4, steps(percent(10), percent(100)), []int{1, 4}},
		{4000, steps(percent(10), percent(100)), []int{400, 4000}},
		{7, steps(percent(1), percent(100)), []int{1, 7}},
		{3, steps(percent(33), percent(34), percent(100)), []int{1, 2, 3}},
		{3, steps(percent(10), percent(25), percent(75), percent(100)), []int{1, 3}},
		{1, steps(percent(50), percent(100)), []int{1}},
		{10, steps(count(1), count(3), percent(100)), []int{1, 3, 10}},
		{2, steps(count(5), percent(100)), []int{2}},
		{10, steps(percent(50), count(2), percent(60), percent(100)), []int{5, 6, 10}},
		{101, steps(percent(100)), []int{101}},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.n, test.want), func(t *testing.T) {
			w := newWorld(t, test.n, test.plan...)
			var got []int
			for w.rollout.Status.Phase != binnacle.RolloutCompleted {
				before := w.in()
				w.do(binnacle.VerbAdvance)
				got = append(got, len(w.in()))
				if !slices.Equal(before, w.in()[:len(before)]) {
					t.Errorf("who was in moved: %v, then %v", before, w.in())
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if reason := w.try(binnacle.VerbAdvance, rollout.Request{}); reason != rollout.ReasonUnchanged {
				t.Errorf("one more advance: %q", reason)
			}
		})
	}
}

func TestNoTargets(t *testing.T) {
	w := newWorld(t, 0, percent(100))
	for _, verb := range []binnacle.RolloutVerb{binnacle.VerbAdvance, binnacle.VerbPromote} {
		if reason := w.try(verb, rollout.Request{}); reason != rollout.ReasonNoTargets {
			t.Errorf("%s: %q", verb, reason)
		}
	}
	w = newWorld(t, rollout.MaxTargets+1, percent(100))
	if reason := w.try(binnacle.VerbAdvance, rollout.Request{}); reason != rollout.ReasonTooMany {
		t.Errorf("10,001 targets: %q", reason)
	}
}

// TestRings adds those with a label; one that matches nothing is passed over with its gate.
func TestRings(t *testing.T) {
	w := newWorld(t, 10, ring("dev", binnacle.RolloutGate{Success: true}), ring("none", binnacle.RolloutGate{Approval: new(int32)}), ring("eu"), percent(50), percent(100))
	w.rollout.Spec.Steps[1].Gate.Approval = &[]int32{3}[0]
	for i, value := range []string{"dev", "eu", "eu", "dev", "us"} {
		w.targets[i].Labels = labels.Set{"ring": value}
	}
	w.do(binnacle.VerbAdvance)
	w.is(binnacle.RolloutProgressing, "dev", 2, binnacle.WaitSuccess)
	w.succeed("store-00", "store-03")
	w.do(binnacle.VerbAdvance)
	w.is(binnacle.RolloutProgressing, "eu", 4, binnacle.WaitAdvance)
	if got := w.rollout.Status.Transitions[1].Message; got != "skipped as empty: none" {
		t.Errorf("the transition says %q", got)
	}
	w.do(binnacle.VerbAdvance)
	w.is(binnacle.RolloutProgressing, "p50", 5, binnacle.WaitAdvance)
	w.do(binnacle.VerbAdvance)
	w.is(binnacle.RolloutCompleted, "p100", 10, "")
}

// TestOrder takes canaries first, then a label, then a hash.
func TestOrder(t *testing.T) {
	w := newWorld(t, 8, percent(100))
	w.rollout.Spec.Order = &binnacle.RolloutOrder{Label: "tier", Canaries: []binnacle.ClusterReference{
		{Name: "store-07"}, {Name: "no-target"}, {Name: "store-02", Namespace: "fleet"}}}
	for name, tier := range map[string]string{"store-00": "10", "store-01": "9", "store-03": "-1", "store-04": "b", "store-05": "a10", "store-02": "0"} {
		w.target(name).Labels = labels.Set{"tier": tier}
	}
	w.do(binnacle.VerbAdvance)
	want := []string{"store-07", "store-02", "store-03", "store-01", "store-00", "store-05", "store-04", "store-06"}
	if diff := cmp.Diff(want, w.in()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestHashOrder gives each decision another order, that the order of the input does not change.
func TestHashOrder(t *testing.T) {
	order := func(key string, reverse bool) []string {
		w := newWorld(t, 50, percent(100))
		w.rollout.Spec.Output.DecisionKey = key
		if reverse {
			slices.Reverse(w.targets)
		}
		w.do(binnacle.VerbAdvance)
		return w.in()
	}
	if a, b := order("a", false), order("a", true); !slices.Equal(a, b) {
		t.Errorf("the order of the input matters: %v, %v", a, b)
	}
	if a, b := order("a", false), order("b", false); slices.Equal(a, b) || slices.IsSorted(a) || slices.IsSorted(b) {
		t.Errorf("orders of two decisions: %v, %v", a, b)
	}
}

// TestTransitionsAndRevisions are stamped, and only the last 20 are kept.
func TestTransitionsAndRevisions(t *testing.T) {
	w := newWorld(t, 60)
	for i := range int32(24) {
		w.rollout.Spec.Steps = append(w.rollout.Spec.Steps, count(i+1))
	}
	w.rollout.Spec.Steps = append(w.rollout.Spec.Steps, percent(100))
	groups := make([]string, 30)
	for range 25 {
		if reason := w.try(binnacle.VerbAdvance, rollout.Request{Actor: rollout.Actor{User: "ben", Groups: groups},
			RolloutActionSpec: binnacle.RolloutActionSpec{Reason: "because"}}); reason != "" {
			t.Fatal(reason)
		}
	}
	status := w.rollout.Status
	if len(status.Transitions) != 20 || len(status.Revisions) != 20 || status.Revision != 25 {
		t.Fatalf("%d transitions, %d revisions, revision %d", len(status.Transitions), len(status.Revisions), status.Revision)
	}
	got := status.Transitions[18]
	if got.Verb != "advance" || got.User != "ben" || len(got.Groups) != 20 || got.Reason != "because" || got.Step != "p100" || got.Revision != 25 ||
		got.Phase != binnacle.RolloutCompleted || !got.Time.Time.Equal(start) {
		t.Errorf("transition %+v", got)
	}
	if last := status.Transitions[19]; last.Verb != "complete" || last.User != rollout.Automatic {
		t.Errorf("last transition %+v", last)
	}
	if first := status.Revisions[0]; first.Revision != 6 || first.Clusters != 6 || first.Step != "c6" {
		t.Errorf("first revision %+v", first)
	}
}
