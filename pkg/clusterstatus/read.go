package clusterstatus

import (
	"slices"
	"strings"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
)

// Cluster is a ClusterProfile with its status, as the view has them. Neither may be changed.
type Cluster struct {
	// Profile is without what the view does not show: annotations, managed fields and providers.
	Profile *multicluster.ClusterProfile
	Status  *binnacle.ClusterStatus
}

// Cluster returns the cluster namespace/name. It does not wait: Barrier before it makes sure that what exists is found.
func (e *Engine) Cluster(key string) (Cluster, bool) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.model == nil {
		return Cluster{}, false
	}
	return e.cluster(key)
}

func (e *Engine) cluster(key string) (Cluster, bool) {
	c := Cluster{e.model.profiles[key], e.Log.Get(key)}
	if c.Profile != nil && c.Status == nil { // It was made a moment ago, and the log is about to have it.
		c.Status = e.model.derive(key)
	}
	return c, c.Profile != nil
}

// Clusters returns the clusters of namespaces, in no order.
func (e *Engine) Clusters(namespaces []string) []Cluster {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.model == nil {
		return nil
	}
	var found []Cluster
	for key := range e.model.profiles {
		namespace, _, _ := strings.Cut(key, "/")
		if !slices.Contains(namespaces, namespace) {
			continue
		}
		if c, ok := e.cluster(key); ok {
			found = append(found, c)
		}
	}
	return found
}

// Decision returns the clusters, as namespace/name, that the slices of a decision name, in no order and some perhaps twice, and whether the
// slices are whole: where they are not, somebody is about to write others. Slices without a decision-key belong to none.
func (e *Engine) Decision(namespace, key string) (clusters []string, whole bool) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.model == nil {
		return nil, false
	}
	var of []slice
	for _, slice := range e.model.placements.slices {
		if slice.keyed && slice.decision == namespace+"/"+key {
			of = append(of, slice)
			for cluster := range slice.clusters {
				clusters = append(clusters, cluster)
			}
		}
	}
	return clusters, isWhole(of)
}

// MassSilence says whether so many clusters went silent at once that the hub is suspect.
func (e *Engine) MassSilence() bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.model != nil && e.model.state.Head.SuspectFrom != 0
}
