package rollout

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/clusterstatus"
	planner "github.com/binnacle-dev/binnacle/pkg/rollout"
)

// View is what is known of the clusters.
type View interface {
	// Barrier returns once the view has everything that is in etcd; its error is an answer.
	Barrier(ctx context.Context) (int64, error)
	// Cluster returns the cluster namespace/name.
	Cluster(key string) (clusterstatus.Cluster, bool)
	// Clusters returns the clusters of namespaces.
	Clusters(namespaces []string) []clusterstatus.Cluster
	// Decision returns the clusters, as namespace/name, of a decision, and whether its slices are whole.
	Decision(namespace, key string) (clusters []string, whole bool)
	// MassSilence says whether the hub is suspect.
	MassSilence() bool
}

// input is what the planner decides on, as the view has it now. Where nothing is to be selected, it is of the clusters of the run only which there are.
func (m *Mover) input(ctx context.Context, rollout *binnacle.Rollout, selecting bool) (planner.Input, error) {
	found := map[string]*planner.Target{}
	add := func(c clusterstatus.Cluster, selected bool) {
		key := c.Profile.Namespace + "/" + c.Profile.Name
		if found[key] == nil {
			found[key] = targetOf(c)
		}
		found[key].Selected = found[key].Selected || selected
	}
	if selecting {
		selected, err := m.selected(ctx, rollout)
		if err != nil {
			return planner.Input{}, err
		}
		for _, c := range selected {
			add(c, true)
		}
	}
	for i := range rollout.Status.Clusters {
		known := &rollout.Status.Clusters[i]
		if c, ok := m.view.Cluster(keyOf(rollout, binnacle.ClusterReference{Name: known.Name, Namespace: known.Namespace})); ok {
			add(c, false)
		}
	}
	in := planner.Input{Rollout: rollout, Targets: make([]planner.Target, 0, len(found)), MassSilence: m.view.MassSilence(), Now: time.Now()}
	for _, target := range found {
		in.Targets = append(in.Targets, *target)
	}
	return in, nil
}

// selected are the clusters that the targets of the spec select.
func (m *Mover) selected(ctx context.Context, rollout *binnacle.Rollout) ([]clusterstatus.Cluster, error) {
	targets := &rollout.Spec.Targets
	if targets.Selector != nil {
		return m.bySelector(ctx, rollout)
	}
	var keys []string
	if targets.Decision != nil {
		var whole bool
		if keys, whole = m.view.Decision(rollout.Namespace, targets.Decision.Key); !whole {
			return nil, halfWritten(targets.Decision.Key)
		}
	}
	for _, reference := range targets.Clusters {
		keys = append(keys, keyOf(rollout, reference))
	}
	var found []clusterstatus.Cluster
	for _, key := range keys {
		if c, ok := m.view.Cluster(key); ok {
			found = append(found, c)
		}
	}
	return found, nil
}

func (m *Mover) bySelector(ctx context.Context, rollout *binnacle.Rollout) ([]clusterstatus.Cluster, error) {
	targets := rollout.Spec.Targets.Selector
	matches := labels.Everything()
	if targets.Labels != nil {
		var err error
		if matches, err = metav1.LabelSelectorAsSelector(targets.Labels); err != nil {
			return nil, err
		}
	}
	choice, err := m.choose(rollout)
	if err != nil {
		return nil, unselected(err)
	}
	var found []clusterstatus.Cluster
	for _, c := range m.view.Clusters(targets.Namespaces) {
		if !matches.Matches(labels.Set(c.Profile.Labels)) {
			continue
		}
		taken, err := choice.takes(ctx, c)
		if err != nil {
			return nil, unselected(err)
		}
		if taken {
			found = append(found, c)
		}
	}
	choice.warn(ctx)
	return found, nil
}

// keyOf is how the view calls a cluster.
func keyOf(rollout *binnacle.Rollout, reference binnacle.ClusterReference) string {
	return cmp.Or(reference.Namespace, rollout.Namespace) + "/" + reference.Name
}

// targetOf says of a cluster what the planner needs to know. Who reported before and is silent now is not connected; of who never reported
// nothing is known, and it is treated as one that does.
func targetOf(c clusterstatus.Cluster) *planner.Target {
	target := &planner.Target{Name: c.Profile.Name, Namespace: c.Profile.Namespace, Labels: c.Profile.Labels, Connected: true,
		Terminating: c.Profile.DeletionTimestamp != nil}
	if c.Status.Status.Phase == binnacle.ClusterUnreachable {
		target.Connected = false
		if reachable := meta.FindStatusCondition(c.Status.Status.Conditions, binnacle.ConditionReachable); reachable != nil {
			target.Reason = reachable.Reason
		}
	}
	return target
}
