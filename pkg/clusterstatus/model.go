package clusterstatus

import (
	"context"
	"errors"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/clusterstatus/derive"
	"github.com/binnacle-dev/binnacle/pkg/clusterstatus/viewlog"
	"github.com/binnacle-dev/binnacle/pkg/report/pages"
)

// write is a write of etcd to one of our keys.
type write struct {
	key string
	// value is nil where the key was deleted.
	value    []byte
	revision int64
}

// model is everything that the view is derived from. Clusters are called namespace/name.
type model struct {
	profileSource, decisionSource, pageSource source

	profiles   map[string]*multicluster.ClusterProfile
	clusters   map[types.UID]string
	names      *names
	placements *placements
	state      *pages.State
}

func newModel(profiles, decisions, reports source) *model {
	return &model{
		profileSource: profiles, decisionSource: decisions, pageSource: reports,
		profiles: map[string]*multicluster.ClusterProfile{}, clusters: map[types.UID]string{}, names: &names{uids: map[string]types.UID{}},
		placements: newPlacements(), state: pages.NewState(),
	}
}

// apply takes the writes of one revision, or everything at a load, and returns the clusters that have to be derived again, sorted. The
// only error is a page that cannot be read: without it there is no view.
func (m *model) apply(ctx context.Context, writes []write) ([]string, error) {
	dirty := map[string]struct{}{}
	touch := func(cluster string) { dirty[cluster] = struct{}{} }
	var changes []pages.Change
	for _, w := range writes {
		if cluster, ok := m.profileSource.below(w.key); ok {
			m.setProfile(ctx, cluster, w)
			touch(cluster)
		} else if decision, ok := m.decisionSource.below(w.key); ok {
			m.setDecision(ctx, decision, w, touch)
		} else if page, ok := m.pageSource.below(w.key); ok {
			change := pages.Change{Key: page, Revision: w.revision}
			if w.value != nil {
				var err error
				if change.Value, change.Stale, err = m.pageSource.open(ctx, w.key, w.value); err != nil {
					return nil, err
				}
			}
			changes = append(changes, change)
		}
	}
	uids, err := m.state.Apply(changes)
	if err != nil {
		return nil, err
	}
	for _, uid := range uids {
		if cluster, ok := m.clusters[uid]; ok {
			touch(cluster)
		}
	}
	clusters := make([]string, 0, len(dirty))
	for cluster := range dirty {
		clusters = append(clusters, cluster)
	}
	slices.Sort(clusters)
	return clusters, nil
}

var errOtherType = errors.New("it is of another type")

// setProfile takes a ClusterProfile in. One that cannot be read, as after a key of encryption was lost, is in nobody's view.
func (m *model) setProfile(ctx context.Context, cluster string, w write) {
	if old := m.profiles[cluster]; old != nil {
		delete(m.profiles, cluster)
		delete(m.clusters, old.UID)
	}
	var uid types.UID
	// In one step: a cluster whose profile changes has one all the time.
	defer func() { m.names.set(cluster, uid) }()
	if w.value == nil {
		return
	}
	object, err := m.profileSource.decode(ctx, w.key, w.value)
	profile, ok := object.(*multicluster.ClusterProfile)
	if err == nil && !ok {
		err = errOtherType
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "A ClusterProfile cannot be read and has no ClusterStatus", "clusterProfile", cluster)
		return
	}
	// What the view does not show is most of a profile.
	profile.ManagedFields, profile.Annotations = nil, nil
	profile.Status.AccessProviders, profile.Status.CredentialProviders = nil, nil
	m.profiles[cluster] = profile
	m.clusters[profile.UID] = cluster
	uid = profile.UID
}

func (m *model) setDecision(ctx context.Context, key string, w write, touch func(string)) {
	var decision *multicluster.PlacementDecision
	if w.value != nil {
		object, err := m.decisionSource.decode(ctx, w.key, w.value)
		var ok bool
		if decision, ok = object.(*multicluster.PlacementDecision); err == nil && !ok {
			err = errOtherType
		}
		if err != nil {
			klog.FromContext(ctx).Error(err, "A PlacementDecision cannot be read and counts for no cluster", "placementDecision", key)
			decision = nil
		}
	}
	m.placements.set(key, decision, touch)
}

// derive returns the view of one cluster, nil where there is no ClusterProfile.
func (m *model) derive(cluster string) *binnacle.ClusterStatus {
	profile := m.profiles[cluster]
	if profile == nil {
		return nil
	}
	in := derive.Input{Profile: profile, Head: m.state.Head, Placements: m.placements.keys(cluster)}
	if entry, seen := m.state.Entry(profile.UID); entry != nil {
		in.Facts, in.Seen = entry.Facts, seen
	}
	return derive.ClusterStatus(in)
}

// changes derives clusters again and returns those that readers see otherwise than before.
func (m *model) changes(clusters []string, shown func(string) *binnacle.ClusterStatus) []viewlog.Change {
	var changes []viewlog.Change
	for _, cluster := range clusters {
		before, after := shown(cluster), m.derive(cluster)
		switch {
		case before == nil && after == nil:
		case before == nil || after == nil || !same(before, after):
			changes = append(changes, viewlog.Change{Key: cluster, Object: after})
		}
	}
	return changes
}

// same compares all but the resourceVersion, which after does not have yet.
func same(before, after *binnacle.ClusterStatus) bool {
	compared := *after
	compared.ResourceVersion = before.ResourceVersion
	return apiequality.Semantic.DeepEqual(before, &compared)
}

// exists says whether there is a ClusterProfile of this uid.
func (m *model) exists(uid types.UID) bool {
	_, ok := m.clusters[uid]
	return ok
}
