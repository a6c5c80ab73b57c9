package rollout

import (
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
)

// byDecision has a Rollout take its targets from a decision.
func byDecision(spec *binnacle.RolloutSpec) {
	spec.Targets = binnacle.RolloutTargets{Decision: &binnacle.DecisionTarget{Key: "chosen"}}
	spec.Drift = binnacle.DriftFollow
}

// TestHalfWrittenDecision has a Rollout follow a decision whose producer is in the middle of a change: nobody joins or leaves, slices are
// repaired, and it is looked at again soon. What a person asks for is to be tried again, unless it goes back.
func TestHalfWrittenDecision(t *testing.T) {
	w := newWorld(t, 4)
	w.view.decide(true, "c0", "c1", "c2")
	w.start(byDecision, 50, 100)
	w.act(binnacle.VerbAdvance)
	w.view.decide(false, "c0", "c3") // c3 joins, and the slice that has c1 and c2 is not there yet.
	w.edit("app-0", func(d *multicluster.PlacementDecision) { d.Decisions = d.Decisions[:1] })
	before := w.now()
	if next := w.tick(); next.IsZero() || time.Until(next) > 2*time.Second {
		t.Errorf("it is looked at again at %s", next)
	}
	if got := w.published(); !slices.Equal(got, []string{"c0", "c1", "c2"}) || w.now().Status.Revision != before.Status.Revision {
		t.Errorf("published are %v", got)
	}
	if _, err := w.ask("app", binnacle.VerbAdvance, binnacle.RolloutAction{}); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("a new run: %v", err)
	}
	if _, err := (&PreviewREST{w.mover}).Get(w.ctx(), "app", &binnacle.RolloutPreviewOptions{}); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("a preview: %v", err)
	}
	w.view.set("c0", "") // Who is deleted leaves in any case.
	w.tick()
	if got := w.published(); !slices.Equal(got, []string{"c1", "c2"}) {
		t.Errorf("published are %v after one is gone", got)
	}
	if _, err := w.ask("app", binnacle.VerbRollback, backToFirst, "All"); err != nil {
		t.Errorf("going back: %v", err)
	}
	w.view.decide(true, "c1", "c3")
	w.tick()
	if got := w.published(); !slices.Equal(got, []string{"c1", "c3"}) {
		t.Errorf("published are %v once it is whole", got)
	}
}
