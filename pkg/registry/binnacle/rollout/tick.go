package rollout

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/registry/multicluster/placementdecision"
	planner "github.com/binnacle-dev/binnacle/pkg/rollout"
)

// Tick moves a Rollout as far as is due by itself, at most one step, and repairs its slices. It may be called at any time, by any replica:
// where nothing is due, nothing is written. next is when something is due though nothing else happens, zero for never.
func (m *Mover) Tick(ctx context.Context, namespace, name string) (next time.Time, err error) {
	ctx = request.WithNamespace(ctx, namespace)
	rollout, err := m.get(ctx, name)
	switch {
	case apierrors.IsNotFound(err), err == nil && rollout.DeletionTimestamp != nil:
		return time.Time{}, m.collect(ctx, namespace, name)
	case err != nil:
		return time.Time{}, err
	case rollout.Status.Phase == binnacle.RolloutPending:
		return time.Time{}, nil
	}
	seen, err := m.view.Barrier(ctx)
	if err != nil {
		return time.Time{}, err
	}
	in, err := m.due(ctx, rollout)
	if err != nil { // What was decided is published in any case.
		return time.Time{}, errors.Join(err, m.project(ctx, rollout))
	}
	rollout, blocked, result, err := m.move(ctx, rollout, in, seen)
	if err != nil {
		return time.Time{}, err
	}
	if result.Next != nil {
		next = result.Next.Time
	}
	err = m.project(ctx, rollout)
	switch soon := in.Now.Add(untilWhole); {
	case blocked == nil:
	case blocked.Reason != binnacle.ReasonDecisionIncomplete:
		err = errors.Join(errors.New(blocked.Message), err)
	case blocked.Quiet && (next.IsZero() || next.After(soon)): // Later it is looked at as often as any.
		next = soon
	}
	return next, err
}

// move stores what is due. Where that cannot be published, it stores why instead.
func (m *Mover) move(ctx context.Context, rollout *binnacle.Rollout, in planner.Input, seen int64) (*binnacle.Rollout, *planner.Blocked, planner.Result, error) {
	after, result, err := m.swap(ctx, rollout, in, seen)
	if in.Blocked == nil {
		if in.Blocked = blockedBy(err); in.Blocked != nil {
			after, result, err = m.swap(ctx, rollout, in, seen)
		}
	}
	return after, in.Blocked, result, err
}

// swap stores what a tick makes of a Rollout, and makes it anew where somebody has written it since.
func (m *Mover) swap(ctx context.Context, rollout *binnacle.Rollout, in planner.Input, seen int64) (*binnacle.Rollout, planner.Result, error) {
	result := planner.Tick(in)
	if !result.Changed {
		return rollout, result, nil
	}
	var before *binnacle.RolloutStatus
	foreign, _, err := m.foreignNames(ctx, rollout)
	if err != nil {
		return nil, result, err
	}
	blocked := in.Blocked
	changed, err := m.rollouts.Change(ctx, rollout.Name, false, func(object runtime.Object) (runtime.Object, error) {
		existing := object.(*binnacle.Rollout)
		updated := *existing
		before = existing.Status.DeepCopy()
		if existing.UID != rollout.UID || existing.DeletionTimestamp != nil {
			result = planner.Result{}
			return &updated, nil
		}
		if existing.ResourceVersion != rollout.ResourceVersion {
			if seen, err = m.catchUp(ctx, existing, seen); err != nil {
				return nil, err
			}
			now, err := m.due(ctx, existing)
			if err != nil {
				return nil, err
			}
			if in.Blocked != nil && in.Blocked.Reason == binnacle.ReasonNameTaken {
				now.Blocked = in.Blocked
			}
			result, blocked = planner.Tick(now), now.Blocked
		}
		if result.Changed {
			updated.Status = result.Status
		}
		if blocked != nil { // Nobody comes in.
			return &updated, nil
		}
		return &updated, refuseForeign(&updated, foreign)
	})
	if err != nil {
		return nil, result, err
	}
	after := changed.(*binnacle.Rollout)
	m.announce(before, after)
	return after, result, nil
}

// List returns the Rollouts that a Tick may move or repair, as this replica's caches have them: those that were started and are not
// finished, those whose slices are not all there, and of the finished ones those that still follow their targets. Without a hub, it also
// names the Rollouts that are gone and whose slices are not.
func (m *Mover) List(ctx context.Context) ([]types.NamespacedName, error) {
	cached := &metainternalversion.ListOptions{ResourceVersion: "0"}
	decisions, err := m.decisions.List(ctx, cached)
	if err != nil {
		return nil, err
	}
	rollouts, err := m.rollouts.List(ctx, cached)
	if err != nil {
		return nil, err
	}
	by, owners := map[types.UID][]*multicluster.PlacementDecision{}, map[types.UID]types.NamespacedName{}
	for i := range decisions.(*multicluster.PlacementDecisionList).Items {
		slice := &decisions.(*multicluster.PlacementDecisionList).Items[i]
		if owner := placementdecision.OwnerOf(slice); owner != nil {
			by[owner.UID] = append(by[owner.UID], slice)
			owners[owner.UID] = types.NamespacedName{Namespace: slice.Namespace, Name: owner.Name}
		}
	}
	var due []types.NamespacedName
	for i := range rollouts.(*binnacle.RolloutList).Items {
		rollout := &rollouts.(*binnacle.RolloutList).Items[i]
		delete(owners, rollout.UID)
		if m.isDue(rollout, by[rollout.UID]) {
			due = append(due, types.NamespacedName{Namespace: rollout.Namespace, Name: rollout.Name})
		}
	}
	if m.collects {
		for _, gone := range owners {
			due = append(due, gone)
		}
	}
	return due, nil
}

// isDue says whether a Tick may have something to do.
func (m *Mover) isDue(rollout *binnacle.Rollout, stored []*multicluster.PlacementDecision) bool {
	status := &rollout.Status
	switch {
	case rollout.DeletionTimestamp != nil:
		return m.collects
	case status.Phase == binnacle.RolloutPending:
		return false
	case !status.Phase.Finished(), !isProjected(rollout, stored), status.ObservedGeneration != rollout.Generation:
		return true
	case status.Phase == binnacle.RolloutCompleted && (rollout.Spec.Drift != binnacle.DriftFreeze || status.Counts.Held+status.Counts.Pending > 0):
		return true
	}
	for i := range status.Clusters {
		if c := &status.Clusters[i]; planner.IsThrough(c) {
			if _, exists := m.view.Cluster(keyOf(rollout, binnacle.ClusterReference{Name: c.Name, Namespace: c.Namespace})); !exists {
				return true
			}
		}
	}
	return false
}
