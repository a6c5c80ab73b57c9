package expression

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
)

// maxFailures is how many of the clusters that an expression fails for are named.
const maxFailures = 5

// Program is a compiled expression. It may be used by many at once.
type Program struct {
	variables map[string]variable
	compiled  cel.Program
}

// Fleet begins a selection: what the expression costs for its clusters counts together.
func (p *Program) Fleet() *Fleet { return &Fleet{program: p} }

// Fleet is one selection. It may be used by many at once.
type Fleet struct {
	program *Program
	cost    atomic.Uint64
	asked   atomic.Int64

	mu     sync.Mutex
	failed int
	named  []string
}

// Takes says whether the expression takes a cluster. Neither object is changed; a nil status is that of a cluster of which nothing is
// known. One that the expression fails for is not taken, and is among the failures. An error is about the whole selection: a *BudgetError,
// or that the context ended.
func (f *Fleet) Takes(ctx context.Context, profile *multicluster.ClusterProfile, status *binnacle.ClusterStatus) (bool, error) {
	taken, _, err := f.Judge(ctx, profile, status)
	return taken, err
}

// Judge is Takes that also tells a cluster that is not taken from one of which the expression does not know.
func (f *Fleet) Judge(ctx context.Context, profile *multicluster.ClusterProfile, status *binnacle.ClusterStatus) (taken, known bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, false, err
	}
	if f.cost.Load() > MaxFleetCost {
		return false, false, &BudgetError{int(f.asked.Load())}
	}
	f.asked.Add(1)
	answer, details, err := f.program.compiled.ContextEval(ctx, &activation{variables: f.program.variables, profile: profile, status: status})
	cost := uint64(MaxClusterCost)
	if details != nil && details.ActualCost() != nil {
		cost = *details.ActualCost()
	}
	f.cost.Add(cost)
	if ctx.Err() != nil {
		return false, false, ctx.Err()
	}
	is, ok := answer.(types.Bool)
	if err == nil && !ok {
		err = fmt.Errorf("the answer is no bool but %T", answer)
	}
	if err != nil {
		f.fail(profile, err)
		return false, false, nil
	}
	return bool(is), true, nil
}

func (f *Fleet) fail(profile *multicluster.ClusterProfile, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed++
	if len(f.named) < maxFailures {
		f.named = append(f.named, fmt.Sprintf("%s/%s (%v)", profile.Namespace, profile.Name, err))
	}
}

// Failures says for how many clusters the expression failed, and of the first ones why. None of them was taken.
func (f *Fleet) Failures() (count int, message string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed == 0 {
		return 0, ""
	}
	more := ""
	if f.failed > len(f.named) {
		more = fmt.Sprintf(" and %d more", f.failed-len(f.named))
	}
	return f.failed, "the expression fails for, and does not take, " + strings.Join(f.named, ", ") + more
}
