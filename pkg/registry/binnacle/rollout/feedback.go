package rollout

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/keymutex"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	planner "github.com/binnacle-dev/binnacle/pkg/rollout"
)

const (
	// feedbackBatch is how many outcomes one write takes at most.
	feedbackBatch = 1000
	// feedbackPatience is how long a write of outcomes may take.
	feedbackPatience = 20 * time.Second
)

// feedbacks gathers the outcomes of one Rollout that arrive while earlier ones are written: each write of a large Rollout is expensive, and
// a step of a thousand clusters brings a thousand outcomes at once.
type feedbacks struct {
	mu   sync.Mutex
	open map[about]*batch
	// turn is held for a Rollout by whoever writes to it.
	turn keymutex.KeyMutex
}

// about is the Rollout that an outcome is of, by its name and, where the consumer says it, its uid.
type about struct {
	types.NamespacedName
	uid types.UID
}

// batch is outcomes that are written together. All but outcomes is valid once done is closed.
type batch struct {
	outcomes []binnacle.RolloutFeedbackSpec
	done     chan struct{}
	errs     []error
	before   *binnacle.RolloutStatus
	after    *binnacle.Rollout
	err      error
}

func newFeedbacks() *feedbacks {
	return &feedbacks{open: map[about]*batch{}, turn: keymutex.NewHashed(0)}
}

// join adds an outcome to the open batch of a Rollout, or opens one, which the caller then has to write.
func (f *feedbacks) join(rollout about, outcome binnacle.RolloutFeedbackSpec) (b *batch, place int, opened bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b = f.open[rollout]
	if opened = b == nil || len(b.outcomes) >= feedbackBatch; opened {
		b = &batch{done: make(chan struct{})}
		f.open[rollout] = b
	}
	b.outcomes = append(b.outcomes, outcome)
	return b, len(b.outcomes) - 1, opened
}

// close lets nobody join a batch any more.
func (f *feedbacks) close(rollout about, b *batch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open[rollout] == b {
		delete(f.open, rollout)
	}
}

// report stores an outcome, together with others, and returns the Rollout as it is then. Its errors are answers.
func (m *Mover) report(ctx context.Context, rollout about, outcome binnacle.RolloutFeedbackSpec, dryRun bool) (*binnacle.Rollout, error) {
	if dryRun {
		b := &batch{outcomes: []binnacle.RolloutFeedbackSpec{outcome}}
		m.writeFeedback(ctx, rollout, b, true)
		return b.of(ctx, rollout.Name, 0)
	}
	b, place, opened := m.feedbacks.join(rollout, outcome)
	if opened {
		m.writeBatch(ctx, rollout, b)
	}
	select {
	case <-b.done:
		return b.of(ctx, rollout.Name, place)
	case <-ctx.Done():
		return nil, late()
	}
}

// writeBatch waits for its turn, and writes what has joined the batch until then. Whatever becomes of it, nobody is left waiting.
func (m *Mover) writeBatch(ctx context.Context, rollout about, b *batch) {
	defer close(b.done)
	id := rollout.String() // Of all uids: they are of one name.
	m.feedbacks.turn.LockKey(id)
	defer func() { _ = m.feedbacks.turn.UnlockKey(id) }() // It fails for no key.
	m.feedbacks.close(rollout, b)
	// The others' outcomes do not end with this request.
	shared, cancel := context.WithTimeout(context.WithoutCancel(ctx), feedbackPatience)
	defer cancel()
	m.writeFeedback(shared, rollout, b, false)
}

// late is 504 with the time after which to try again: an outcome may be given twice.
func late() error {
	return apierrors.NewTimeoutError("the outcome could not be stored in time, or it is not known whether it was: report it again", 1)
}

// errUnwritten is of a batch whose write ended in the middle, as by a panic.
var errUnwritten = apierrors.NewInternalError(errors.New("the outcome was not stored"))

// of is what became of one outcome, and records it for the request that brought it.
func (b *batch) of(ctx context.Context, name string, place int) (*binnacle.Rollout, error) {
	if b.err != nil {
		return nil, b.err
	}
	if err := b.errs[place]; err != nil {
		return nil, answer(name, err)
	}
	recordAudit(ctx, b.before, &b.after.Status)
	return b.after, nil
}

// writeFeedback stores the outcomes of a batch.
func (m *Mover) writeFeedback(ctx context.Context, rollout about, b *batch, dryRun bool) {
	b.err = errUnwritten
	changed, err := m.rollouts.Change(ctx, rollout.Name, dryRun, func(object runtime.Object) (runtime.Object, error) {
		existing := object.(*binnacle.Rollout)
		if err := isAbout(existing, rollout.uid); err != nil {
			return nil, err
		}
		if existing.DeletionTimestamp != nil {
			return nil, going(existing)
		}
		result, errs := planner.Feedback(planner.Input{Rollout: existing, Now: time.Now()}, b.outcomes)
		b.before, b.errs = existing.Status.DeepCopy(), errs
		updated := *existing
		if result.Changed {
			updated.Status = result.Status
		}
		return &updated, nil
	})
	if err != nil {
		b.err = err
		if ctx.Err() != nil {
			b.err = late()
		}
		return
	}
	b.after, b.err = changed.(*binnacle.Rollout), nil
	if !dryRun {
		m.announce(b.before, b.after)
		m.notify(b.after)
	}
}
