package rollout

import (
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	planner "github.com/binnacle-dev/binnacle/pkg/rollout"
)

var app = types.NamespacedName{Namespace: "fleet", Name: "app"}

func (w *world) tick() time.Time {
	w.t.Helper()
	next, err := w.mover.Tick(w.t.Context(), "fleet", "app")
	if err != nil {
		w.t.Fatal(err)
	}
	return next
}

// due says whether List names the Rollout.
func (w *world) due() bool {
	w.t.Helper()
	list, err := w.mover.List(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return slices.Contains(list, app)
}

// TestTickRepairs takes apart what a Rollout publishes, as a crash between the swap and the slices or somebody with etcd could, and wants a
// tick to mend it.
func TestTickRepairs(t *testing.T) {
	w := newWorld(t, 250)
	w.start(nil, 100)
	ctx := ofDecisions(t.Context(), "fleet")
	for name, damage := range map[string]func(){
		"nothing was written": func() {
			for _, name := range []string{"app-0", "app-1", "app-2"} {
				if _, _, err := w.decisions.Store.Delete(ctx, name, rest.ValidateAllObjectFunc, &metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			}
		},
		"one is missing": func() {
			if _, _, err := w.decisions.Store.Delete(ctx, "app-1", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		},
		"one is of an older revision": func() {
			w.edit("app-2", func(d *multicluster.PlacementDecision) { d.Labels[binnacle.LabelDecisionRevision] = "0" })
		},
		"one is too many": func() {
			extra := &multicluster.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Name: "app-3", Namespace: "fleet"}, Decisions: multicluster.ClusterDecisions{}}
			own, _, err := w.mover.slicesOf(ctx, w.now().UID)
			if err != nil {
				t.Fatal(err)
			}
			extra.OwnerReferences = own[0].OwnerReferences
			if _, err := w.decisions.Store.Create(ctx, extra, rest.ValidateAllObjectFunc, &metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			damage()
			if !w.due() {
				t.Error("it is not listed as one to be repaired")
			}
			w.tick()
			if got := w.published(); !slices.Equal(got, w.through()) || len(got) != 250 {
				t.Errorf("%d clusters are published", len(got))
			}
			if w.due() {
				t.Error("it is still listed")
			}
			before := w.writes()
			w.tick()
			if n := w.writes() - before; n != 0 {
				t.Errorf("%d writes where nothing was to be done", n)
			}
		})
	}
}

// edit changes a slice past the guard.
func (w *world) edit(name string, change func(*multicluster.PlacementDecision)) {
	w.t.Helper()
	ctx := ofDecisions(w.t.Context(), "fleet")
	object, err := w.decisions.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	changed := object.(*multicluster.PlacementDecision).DeepCopy()
	change(changed)
	if _, _, err := w.decisions.Store.Update(ctx, name, rest.DefaultUpdatedObjectInfo(changed), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// TestTickSteps takes steps that are due, each once, says when the next is, and lets in who was held.
func TestTickSteps(t *testing.T) {
	w := newWorld(t, 4)
	w.view.set("c3", binnacle.ClusterUnreachable)
	w.start(func(spec *binnacle.RolloutSpec) {
		spec.Progression = binnacle.ProgressionAutomatic
		spec.Steps[0].Gate = &binnacle.RolloutGate{Soak: &metav1.Duration{Duration: 2 * time.Second}}
	}, 25, 50, 100)
	next := w.tick()
	if wait := time.Until(next); wait <= 0 || wait > 4*time.Second || len(w.through()) != 1 {
		t.Fatalf("the next step is due in %s, and %v are through", wait, w.through())
	}
	before := w.writes()
	w.tick()
	if n := w.writes() - before; n != 0 {
		t.Errorf("%d writes while it soaks", n)
	}
	time.Sleep(time.Until(next)) // The clock of the planner is the wall's.
	for range 4 {
		w.tick()
	}
	if got := w.through(); !slices.Equal(got, []string{"c0", "c1", "c2"}) || !slices.Equal(w.published(), got) {
		t.Errorf("through are %v, and published %v", got, w.published())
	}
	w.view.set("c3", binnacle.ClusterReady)
	if !w.due() {
		t.Error("one that holds a cluster is not listed")
	}
	w.tick()
	if got := w.published(); len(got) != 4 {
		t.Errorf("published are %v", got)
	}
	var reasons []string
	for len(w.events.Events) > 0 {
		reasons = append(reasons, strings.Fields(<-w.events.Events)[1])
	}
	for _, reason := range []string{"Advance", "Step", "Join"} {
		if !slices.Contains(reasons, reason) {
			t.Errorf("no event %s among %v", reason, reasons)
		}
	}
	w.view.set("c0", "")
	if !w.due() {
		t.Error("one that has a cluster which is gone is not listed")
	}
	w.tick()
	if got := w.published(); !slices.Equal(got, []string{"c1", "c2", "c3"}) {
		t.Errorf("published are %v after one is gone", got)
	}
}

// TestTickUnderMassSilence lets nobody in.
func TestTickUnderMassSilence(t *testing.T) {
	w := newWorld(t, 4)
	w.start(func(spec *binnacle.RolloutSpec) { spec.Progression = binnacle.ProgressionAutomatic }, 25, 100)
	w.view.suspect = true
	w.tick()
	if got := w.through(); len(got) != 1 {
		t.Errorf("through are %v", got)
	}
	w.view.suspect = false
	w.tick()
	if got := w.through(); len(got) != 4 {
		t.Errorf("through are %v", got)
	}
}

// TestTickOfOneThatIsGone deletes slices whose Rollout went without them, where there is no hub to do so.
func TestTickOfOneThatIsGone(t *testing.T) {
	w := newWorld(t, 2)
	w.start(nil, 100)
	if _, _, err := w.REST.Store.Delete(w.ctx(), "app", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{}); err != nil { // Past what deletes the slices.
		t.Fatal(err)
	}
	if !w.due() {
		t.Error("slices without a Rollout are not listed")
	}
	w.tick()
	if _, err := w.decisions.Get(ofDecisions(t.Context(), "fleet"), "app-0", &metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the slice: %v", err)
	}
	if w.due() {
		t.Error("it is still listed")
	}
}

// TestFeedback wants a dry run to store nothing, and a batch to tell each what became of its own.
func TestFeedback(t *testing.T) {
	w := newWorld(t, 2)
	w.start(func(spec *binnacle.RolloutSpec) {
		spec.FailureBudget = &binnacle.RolloutBudget{Count: ptr.To[int32](2)}
		spec.Steps[0].Gate = &binnacle.RolloutGate{Success: true}
	}, 100)
	good := binnacle.RolloutFeedbackSpec{Cluster: binnacle.ClusterReference{Name: "c0"}, Revision: 1, Outcome: binnacle.OutcomeSucceeded}
	before := w.writes()
	if after, err := w.mover.report(w.ctx(), about{app, ""}, good, true); err != nil || after.Status.Counts.Succeeded != 1 || w.writes() != before {
		t.Errorf("a dry run: %v, %d writes", err, w.writes()-before)
	}
	late := good
	late.Revision = 7
	b := &batch{outcomes: []binnacle.RolloutFeedbackSpec{late, good}}
	w.mover.writeFeedback(w.ctx(), about{app, ""}, b, false)
	if _, err := b.of(w.ctx(), "app", 0); !apierrors.IsConflict(err) {
		t.Errorf("an outcome for another revision: %v", err)
	}
	if after, err := b.of(w.ctx(), "app", 1); err != nil || after.Status.Counts.Succeeded != 1 {
		t.Errorf("the other of the batch: %v", err)
	}
}

// TestAdded finds new transitions also where old ones were forgotten.
func TestAdded(t *testing.T) {
	list := func(verbs ...string) (all []binnacle.RolloutTransition) {
		for _, verb := range verbs {
			all = append(all, binnacle.RolloutTransition{Verb: verb})
		}
		return all
	}
	for _, test := range []struct {
		before, after []binnacle.RolloutTransition
		want          int
	}{
		{nil, list("a"), 1}, {list("a"), list("a"), 0}, {list("a"), list("a", "b", "c"), 2}, {list("a", "b"), list("b", "c"), 1}, {list("x"), list("b", "c"), 2},
	} {
		if got := added(test.before, test.after); len(got) != test.want {
			t.Errorf("%v after %v: %v", test.after, test.before, got)
		}
	}
	if planner.MaxRecorded < 2 {
		t.Error("a request may add two")
	}
}
