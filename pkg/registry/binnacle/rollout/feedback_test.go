package rollout

import (
	"context"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/registry/store"
)

// updating is a storage that does something else where a Rollout is written.
type updating struct {
	storage.Interface
	update func(context.Context) error
}

func (u *updating) GuaranteedUpdate(ctx context.Context, _ string, _ runtime.Object, _ bool, _ *storage.Preconditions, _ storage.UpdateFunc, _ runtime.Object) error {
	return u.update(ctx)
}

// breakUpdates has writes of Rollouts do something else, until the returned function is called.
func (w *world) breakUpdates(update func(context.Context) error) (again func()) {
	whole := w.mover.rollouts
	broken := *whole.Store
	broken.Storage.Storage = &updating{broken.Storage.Storage, update}
	w.mover.rollouts = &store.Store{Store: &broken, Kind: whole.Kind}
	return func() { w.mover.rollouts = whole }
}

// reports starts a step of two clusters, and returns an outcome of each.
func (w *world) reports() (outcomes []binnacle.RolloutFeedbackSpec) {
	w.t.Helper()
	w.start(func(spec *binnacle.RolloutSpec) {
		spec.FailureBudget = &binnacle.RolloutBudget{Count: ptr.To[int32](2)}
		spec.Steps[0].Gate = &binnacle.RolloutGate{Success: true}
	}, 100)
	for _, name := range w.through() {
		outcomes = append(outcomes, binnacle.RolloutFeedbackSpec{Cluster: binnacle.ClusterReference{Name: name}, Revision: 1, Outcome: binnacle.OutcomeSucceeded})
	}
	return outcomes
}

// TestPanicLeavesNobodyWaiting ends a write of two outcomes by a panic: both requests end, and the next is written.
func TestPanicLeavesNobodyWaiting(t *testing.T) {
	w := newWorld(t, 2)
	outcomes := w.reports()
	again := w.breakUpdates(func(context.Context) error { panic("in the storage") })
	id := about{NamespacedName: app}
	w.mover.feedbacks.turn.LockKey(id.String())
	var requests sync.WaitGroup
	errs, panics := make([]error, 2), make([]any, 2)
	for i := range 2 {
		requests.Go(func() {
			defer func() { panics[i] = recover() }()
			_, errs[i] = w.mover.report(w.ctx(), id, outcomes[i], false)
		})
	}
	if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
		w.mover.feedbacks.mu.Lock()
		defer w.mover.feedbacks.mu.Unlock()
		open := w.mover.feedbacks.open[id]
		return open != nil && len(open.outcomes) == 2, nil
	}); err != nil {
		t.Fatal(err)
	}
	_ = w.mover.feedbacks.turn.UnlockKey(id.String())
	requests.Wait()
	if (panics[0] == nil) == (panics[1] == nil) || apierrors.IsInternalError(errs[0]) == apierrors.IsInternalError(errs[1]) {
		t.Errorf("panics %v, errors %v: want one of each", panics, errs)
	}
	again()
	if after, err := w.mover.report(w.ctx(), id, outcomes[0], false); err != nil || after.Status.Counts.Succeeded != 1 {
		t.Errorf("the next: %v", err)
	}
}

// TestLateOutcome has etcd not answer: the request is told to come again.
func TestLateOutcome(t *testing.T) {
	w := newWorld(t, 2)
	outcomes := w.reports()
	w.breakUpdates(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	ctx, cancel := context.WithTimeout(w.ctx(), 10*time.Millisecond)
	defer cancel()
	b := &batch{outcomes: outcomes}
	w.mover.writeFeedback(ctx, about{NamespacedName: app}, b, false)
	if _, err := b.of(w.ctx(), "app", 0); !apierrors.IsTimeout(err) {
		t.Errorf("a late outcome: %v", err)
	} else if seconds, ok := apierrors.SuggestsClientDelay(err); !ok || seconds == 0 {
		t.Errorf("%v does not say when to come again", err)
	}
}

// TestOutcomesAreAudited wants the audit event of an outcome to say where the rollout was and is.
func TestOutcomesAreAudited(t *testing.T) {
	w := newWorld(t, 1)
	outcome := w.reports()[0]
	ctx := audit.WithAuditContext(w.ctx())
	ac := audit.AuditContextFrom(ctx)
	if err := ac.Init(audit.RequestAuditConfig{Level: auditinternal.LevelMetadata}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := w.tell(ctx, binnacle.RolloutFeedback{Spec: outcome}); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{auditFrom: "Progressing/p100/1", auditTo: "Completed/p100/1"} {
		if got, _ := ac.GetEventAnnotation(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}

// TestPreviewOfNoStep is about a query that is wrong by itself.
func TestPreviewOfNoStep(t *testing.T) {
	w := newWorld(t, 4)
	w.start(nil, 50, 100)
	preview := &PreviewREST{w.mover}
	if _, err := preview.Get(w.ctx(), "app", &binnacle.RolloutPreviewOptions{Step: "p75"}); !apierrors.IsBadRequest(err) || err.Error() != `there is no step "p75": the steps are p50, p100` {
		t.Errorf("a step that there is not: %v", err)
	}
	if _, err := preview.Get(w.ctx(), "app", &binnacle.RolloutPreviewOptions{Step: "p50"}); !apierrors.IsConflict(err) {
		t.Errorf("a step that was taken: %v", err)
	}
}
