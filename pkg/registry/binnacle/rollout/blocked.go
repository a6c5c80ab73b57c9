package rollout

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	planner "github.com/binnacle-dev/binnacle/pkg/rollout"
)

const (
	// untilWhole is in how long a Rollout is ticked again whose targets' decision is being written.
	untilWhole = time.Second
	// wholePatience is how long a producer may take to write its slices before the condition Blocked tells of it.
	wholePatience = 30 * time.Second
)

// advice is what to do about each reason for which a tick is blocked.
var advice = map[string]string{
	binnacle.ReasonExpression:         ". Nobody joins or leaves meanwhile: change spec.targets.selector.expression, or select fewer clusters",
	binnacle.ReasonDecisionIncomplete: ". Nobody joins or leaves meanwhile: see to its producer",
}

// due is what a tick decides on. Where nobody can say who is selected, it says why; of those who were deleted, that can be said.
func (m *Mover) due(ctx context.Context, rollout *binnacle.Rollout) (planner.Input, error) {
	ended := rollout.Status.Phase == binnacle.RolloutAborted || rollout.Status.Phase == binnacle.RolloutRolledBack
	in, err := m.input(ctx, rollout, !ended)
	blocked := blockedBy(err)
	if blocked == nil || blocked.Reason != binnacle.ReasonDecisionIncomplete {
		m.halves.forget(rollout.UID)
	}
	if blocked == nil {
		return in, err
	}
	in, err = m.input(ctx, rollout, false)
	blocked.Quiet = blocked.Reason == binnacle.ReasonDecisionIncomplete && !m.halves.isLong(rollout.UID, in.Now)
	in.Blocked = blocked
	return in, err
}

// blockedBy says what an error is in the way of, nil where it is no refusal.
func blockedBy(err error) *planner.Blocked {
	var refusal *planner.Refusal
	if !errors.As(err, &refusal) {
		return nil
	}
	return &planner.Blocked{Reason: refusal.Reason, Message: refusal.Message + advice[refusal.Reason]}
}

// halves remembers since when the decisions that Rollouts follow have not been whole. It is of this process: another begins anew.
type halves struct {
	since    sync.Map
	patience time.Duration
}

func (h *halves) forget(uid types.UID) { h.since.Delete(uid) }

// isLong says whether a decision that is not whole has been so for long.
func (h *halves) isLong(uid types.UID, now time.Time) bool {
	first, _ := h.since.LoadOrStore(uid, now)
	return now.Sub(first.(time.Time)) >= h.patience
}
