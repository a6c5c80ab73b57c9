package rollout_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/rollout"
)

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
