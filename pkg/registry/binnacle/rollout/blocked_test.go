package rollout

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/rest"

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

// blocked is the reason of the condition, empty where it is not true.
func (w *world) blocked() string {
	w.t.Helper()
	c := meta.FindStatusCondition(w.now().Status.Conditions, binnacle.ConditionBlocked)
	if c == nil || c.Status != metav1.ConditionTrue {
		return ""
	}
	if !strings.Contains(c.Message, ": ") || c.ObservedGeneration != w.now().Generation {
		w.t.Errorf("the condition is %+v", *c)
	}
	return c.Reason
}

// TestBlocked puts each thing in the way of ticks. The condition says so, is written once, and goes when nothing is in the way any more.
func TestBlocked(t *testing.T) {
	ctx := ofDecisions(t.Context(), "fleet")
	for reason, test := range map[string]struct {
		block, free func(w *world)
		fails       bool
	}{
		binnacle.ReasonDecisionIncomplete: {func(w *world) { w.view.decide(false, "c0") }, func(w *world) { w.view.decide(true, w.all()...) }, false},
		binnacle.ReasonExpression: {func(w *world) {
			w.change("app", func(r *binnacle.Rollout) {
				r.Spec.Targets = w.plan("app").Spec.Targets
				r.Spec.Targets.Selector.Expression = "no such thing"
			})
		}, func(w *world) {
			w.change("app", func(r *binnacle.Rollout) { r.Spec.Targets.Selector.Expression = "" })
		}, true},
		binnacle.ReasonNameTaken: {func(w *world) {
			foreign := &multicluster.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Name: "app-1", Namespace: "fleet"}, Decisions: multicluster.ClusterDecisions{}}
			if _, err := w.decisions.Store.Create(ctx, foreign, rest.ValidateAllObjectFunc, &metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}, func(w *world) {
			if _, _, err := w.decisions.Store.Delete(ctx, "app-1", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}, true},
	} {
		t.Run(reason, func(t *testing.T) {
			w := newWorld(t, 150)
			w.view.decide(true, w.all()...)
			w.start(func(spec *binnacle.RolloutSpec) {
				byDecision(spec)
				spec.Progression = binnacle.ProgressionAutomatic
				spec.Steps[0].Gate = &binnacle.RolloutGate{Soak: &metav1.Duration{Duration: time.Second}}
			}, 50, 100)
			time.Sleep(time.Until(w.tick())) // The clock of the planner is the wall's.
			test.block(w)
			w.edit("app-0", func(d *multicluster.PlacementDecision) { d.Decisions = d.Decisions[:1] })
			tick := func() {
				if _, err := w.mover.Tick(t.Context(), "fleet", "app"); (err != nil) != test.fails {
					t.Errorf("a tick ends with %v", err)
				}
			}
			if reason == binnacle.ReasonDecisionIncomplete {
				if tick(); w.blocked() != "" {
					t.Error("a producer that began a moment ago is told of")
				}
				w.mover.halves.patience = 0
			}
			tick()
			if got := w.blocked(); got != reason {
				t.Errorf("it is blocked by %q", got)
			}
			before := w.writes()
			tick()
			if n := w.writes() - before; n > 0 {
				t.Errorf("%d writes where nothing changed", n)
			}
			if got := w.published(); len(got) != 75 {
				t.Errorf("%d are published", len(got))
			}
			test.free(w)
			for range 3 {
				w.tick()
			}
			if got := w.published(); w.blocked() != "" || len(got) != 150 {
				t.Errorf("once it is free: %q, and %d are published", w.blocked(), len(got))
			}
		})
	}
}

// all are the names of the fleet.
func (w *world) all() (names []string) {
	for i := range 150 {
		names = append(names, fmt.Sprint("c", i))
	}
	return names
}

// TestBlockedEnds ends a run while something is in the way of its ticks.
func TestBlockedEnds(t *testing.T) {
	w := newWorld(t, 4)
	w.view.decide(true, "c0", "c1")
	w.start(byDecision, 50, 100)
	w.mover.halves.patience = 0
	w.view.decide(false, "c0")
	w.tick()
	if got := w.blocked(); got != binnacle.ReasonDecisionIncomplete {
		t.Fatalf("it is blocked by %q", got)
	}
	w.act(binnacle.VerbAbort)
	if w.tick(); w.blocked() != "" || w.due() {
		t.Errorf("one that was ended is blocked by %q, and due: %v", w.blocked(), w.due())
	}
}
