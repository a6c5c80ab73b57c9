package rollout

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	planner "github.com/binnacle-dev/binnacle/pkg/rollout"
)

// cause is the word for programs in a refusal, empty where there is none.
func cause(err error) string {
	if status, ok := err.(apierrors.APIStatus); ok && status.Status().Details != nil && len(status.Status().Details.Causes) > 0 {
		return string(status.Status().Details.Causes[0].Type)
	}
	return ""
}

func asked(spec binnacle.RolloutActionSpec) binnacle.RolloutAction {
	return binnacle.RolloutAction{Spec: spec}
}

var backToFirst = asked(binnacle.RolloutActionSpec{ToRevision: ptr.To[int64](1)})

// TestOnePublishesUnderAKey creates Rollouts beside ones that are finished and publish still: they may be prepared, and publish nothing before the
// first is deleted. Neither does the first go back or start anew while another is unfinished.
func TestOnePublishesUnderAKey(t *testing.T) {
	bodies := map[binnacle.RolloutVerb]binnacle.RolloutAction{binnacle.VerbAdvance: {}, binnacle.VerbPromote: asked(binnacle.RolloutActionSpec{Reason: "now"})}
	for phase, end := range map[binnacle.RolloutPhase]func(w *world){
		binnacle.RolloutCompleted: func(w *world) { w.act(binnacle.VerbAdvance) },
		binnacle.RolloutAborted:   func(w *world) { w.act(binnacle.VerbAbort) },
		binnacle.RolloutRolledBack: func(w *world) {
			if _, err := w.ask("app", binnacle.VerbRollback, backToFirst); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(string(phase), func(t *testing.T) {
			w := newWorld(t, 4)
			w.start(nil, 50, 100)
			end(w)
			w.create(w.plan("second", 100))
			for verb, body := range bodies {
				for _, dryRun := range [][]string{nil, {"All"}} {
					if _, err := w.ask("second", verb, body, dryRun...); cause(err) != "KeyTaken" || !strings.Contains(err.Error(), "belongs to Rollout app") || !strings.Contains(err.Error(), "or delete it, and with it its decision") {
						t.Errorf("%s beside one that publishes (dry run %v): %v", verb, dryRun, err)
					}
				}
			}
			if _, err := w.ask("app", binnacle.VerbRollback, backToFirst); cause(err) != "KeyTaken" || !strings.Contains(err.Error(), "belongs to Rollout second") {
				t.Errorf("going back beside one that is not finished: %v", err)
			}
			if _, err := w.ask("second", binnacle.VerbAbort, binnacle.RolloutAction{}); err != nil {
				t.Errorf("ending one before it began: %v", err)
			}
			if _, err := w.ask("second", binnacle.VerbRetry, binnacle.RolloutAction{}); cause(err) != "KeyTaken" {
				t.Errorf("a retry beside one that publishes: %v", err)
			}
			if _, err := w.ask("app", binnacle.VerbRollback, backToFirst); err != nil {
				t.Errorf("going back beside one that never began: %v", err)
			}
			if _, _, err := w.Delete(w.ctx(), "app", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.ask("second", binnacle.VerbRetry, binnacle.RolloutAction{}); err != nil {
				t.Errorf("once the first is gone: %v", err)
			}
		})
	}
}

// TestCompletedWithNobodyYetHasItsKey has a run end with all of its clusters held: it lets them in later, so that its key is its own.
func TestCompletedWithNobodyYetHasItsKey(t *testing.T) {
	w := newWorld(t, 2)
	w.view.set("c0", binnacle.ClusterUnreachable)
	w.view.set("c1", binnacle.ClusterUnreachable)
	w.start(nil, 100)
	if status := w.now().Status; status.Phase != binnacle.RolloutCompleted || status.Revision != 0 {
		t.Fatalf("it is %s at revision %d", status.Phase, status.Revision)
	}
	w.create(w.plan("second", 100))
	w.view.set("c1", binnacle.ClusterReady)
	if _, err := w.ask("second", binnacle.VerbAdvance, binnacle.RolloutAction{}); cause(err) != "KeyTaken" {
		t.Errorf("another beside it: %v", err)
	}
	w.tick()
	if got := w.published(); len(got) != 1 {
		t.Errorf("published are %v", got)
	}
}

// TestKeyOfSomebodyElsesDecision starts a Rollout whose key a PlacementDecision of nobody carries, such as one that was left by a deletion without its
// dependents.
func TestKeyOfSomebodyElsesDecision(t *testing.T) {
	w := newWorld(t, 2)
	w.start(nil, 50, 100)
	w.edit("app-0", func(d *multicluster.PlacementDecision) { d.OwnerReferences = nil })
	if _, _, err := w.Delete(w.ctx(), "app", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	second := w.plan("second", 100)
	second.Spec.Output.Name = "elsewhere"
	w.create(second)
	if _, err := w.ask("second", binnacle.VerbAdvance, binnacle.RolloutAction{}); cause(err) != "KeyTaken" || !strings.Contains(err.Error(), "PlacementDecision app-0, which is not this Rollout's: delete it") {
		t.Errorf("beside slices of nobody: %v", err)
	}
}

// TestRepetitionWhateverIsInTheWay repeats a request that was followed, when another like it could not be.
func TestRepetitionWhateverIsInTheWay(t *testing.T) {
	w := newWorld(t, 4)
	w.view.decide(true, "c0", "c1")
	w.start(byDecision, 50, 75, 100)
	body := asked(binnacle.RolloutActionSpec{IdempotencyKey: "k"})
	if _, err := w.ask("app", binnacle.VerbAdvance, body); err != nil {
		t.Fatal(err)
	}
	w.view.decide(false, "c0")
	if again, err := w.ask("app", binnacle.VerbAdvance, body); err != nil || !again.Status.Repeated {
		t.Errorf("%+v, %v", again, err)
	}
}

// TestPairsOfEarlierTimes has two Rollouts publish under one key, as was possible once: the one that runs may go back.
func TestPairsOfEarlierTimes(t *testing.T) {
	w := newWorld(t, 4)
	w.start(nil, 50, 100)
	old := w.plan("old", 100)
	old.Spec.Output.DecisionKey = "old"
	w.create(old)
	w.change("old", func(r *binnacle.Rollout) {
		r.Spec.Output.DecisionKey, r.Status.Phase, r.Status.Revision = "app", binnacle.RolloutCompleted, 1
	})
	if _, err := w.ask("app", binnacle.VerbRollback, backToFirst, "All"); err != nil {
		t.Errorf("rollback of the one that runs: %v", err)
	}
	if _, err := w.ask("app", binnacle.VerbAbort, binnacle.RolloutAction{}); err != nil {
		t.Errorf("abort of the one that runs: %v", err)
	}
	if _, err := w.ask("app", binnacle.VerbRetry, binnacle.RolloutAction{}); cause(err) != "KeyTaken" {
		t.Errorf("a new run: %v", err)
	}
}

// change writes a Rollout past all rules.
func (w *world) change(name string, f func(*binnacle.Rollout)) {
	w.t.Helper()
	if _, err := w.mover.rollouts.Change(w.ctx(), name, false, func(object runtime.Object) (runtime.Object, error) {
		changed := object.(*binnacle.Rollout).DeepCopy()
		f(changed)
		return changed, nil
	}); err != nil {
		w.t.Fatal(err)
	}
}

// TestRepetitionNeedsNoKey repeats a request after another Rollout was created under the key: it was followed, so it is not refused.
func TestRepetitionNeedsNoKey(t *testing.T) {
	w := newWorld(t, 4)
	w.create(w.plan("app", 100))
	once := asked(binnacle.RolloutActionSpec{IdempotencyKey: "k"})
	if _, err := w.ask("app", binnacle.VerbAdvance, once); err != nil {
		t.Fatal(err)
	}
	w.create(w.plan("second", 100))
	if done, err := w.ask("app", binnacle.VerbAdvance, once); err != nil || !done.Status.Repeated {
		t.Errorf("a repetition: %+v, %v", done, err)
	}
	other := once
	other.Spec.Reason = "another"
	if _, err := w.ask("app", binnacle.VerbAdvance, other); cause(err) != planner.ReasonKeyReused {
		t.Errorf("another request under the idempotency key: %v", err)
	}
}

// TestAnotherKeyMeanwhile changes the key of a Rollout, or takes the lock away, between the claim and the swap.
func TestAnotherKeyMeanwhile(t *testing.T) {
	w := newWorld(t, 4)
	w.create(w.plan("app", 100))
	for name, test := range map[string]struct {
		meanwhile func(a *act)
		want      func(error) bool
	}{
		"another key": {func(*act) {
			w.change("app", func(r *binnacle.Rollout) { r.Spec.Output.DecisionKey += "x" })
		}, func(err error) bool { return apierrors.IsConflict(err) && cause(err) == planner.ReasonPrecondition }},
		"the lease ended": {func(a *act) {
			if _, err := w.etcd.Revoke(t.Context(), a.lock.session.Lease()); err != nil {
				t.Fatal(err)
			}
		}, apierrors.IsServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			a := &act{Mover: w.mover, request: planner.Request{Verb: binnacle.VerbAdvance}}
			a.admit = func(*binnacle.Rollout) error {
				if test.meanwhile != nil {
					test.meanwhile(a)
					test.meanwhile = nil
				}
				return nil
			}
			if _, err := a.do(w.ctx(), "app"); !test.want(err) {
				t.Errorf("it is answered with %v", err)
			}
			if phase := w.now().Status.Phase; phase != binnacle.RolloutPending {
				t.Errorf("it is %s", phase)
			}
		})
	}
}
