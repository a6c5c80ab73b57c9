package rollout

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/warning"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/clusterstatus"
	planner "github.com/binnacle-dev/binnacle/pkg/rollout"
	"github.com/binnacle-dev/binnacle/pkg/rollout/expression"
)

// rememberedPrograms is how many compiled expressions are kept.
const rememberedPrograms = 1000

// choice says of the clusters of one selection whether the expression of the targets takes them.
type choice struct {
	fleet *expression.Fleet
	// stays are the clusters that are through. One for which the expression fails stays what it is: that nobody knows is no
	// reason to remove from it what consumers brought.
	stays sets.Set[string]
}

func (m *Mover) choose(rollout *binnacle.Rollout) (*choice, error) {
	text := rollout.Spec.Targets.Selector.Expression
	if text == "" {
		return &choice{}, nil
	}
	program, err := m.expressions.Compile(text)
	if err != nil {
		return nil, err
	}
	c := &choice{fleet: program.Fleet(), stays: sets.New[string]()}
	for i := range rollout.Status.Clusters {
		if known := &rollout.Status.Clusters[i]; planner.IsThrough(known) {
			c.stays.Insert(keyOf(rollout, binnacle.ClusterReference{Name: known.Name, Namespace: known.Namespace}))
		}
	}
	return c, nil
}

// reasonExpression is the reason of a refusal since the expression of the targets cannot be evaluated.
const reasonExpression = binnacle.ReasonExpression

// unselected is the refusal where nobody can say which clusters are taken.
func unselected(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &planner.Refusal{Reason: reasonExpression, Message: err.Error()}
}

// takes says whether a cluster is taken. Its error is about the whole selection.
func (c *choice) takes(ctx context.Context, cluster clusterstatus.Cluster) (bool, error) {
	if c.fleet == nil {
		return true, nil
	}
	taken, known, err := c.fleet.Judge(ctx, cluster.Profile, cluster.Status)
	if err == nil && !known {
		taken = c.stays.Has(cluster.Profile.Namespace + "/" + cluster.Profile.Name)
	}
	return taken, err
}

// warn tells the caller for which clusters the expression failed.
func (c *choice) warn(ctx context.Context) {
	if c.fleet == nil {
		return
	}
	if _, message := c.fleet.Failures(); message != "" {
		warning.AddWarning(ctx, "", fmt.Sprintf("spec.targets.selector.expression: %s", message))
	}
}
