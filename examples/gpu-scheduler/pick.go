package main

import (
	"cmp"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// want is which clusters to pick.
type want struct {
	resource string
	// free is what a cluster needs to come in, and keep, which is less, what it needs to stay: a cluster near the border does not come and go.
	free, keep int64
	// clusters is how many to pick at most, 0 for all.
	clusters int
}

// errSuspect is returned while the hub hears from so few clusters at once that the fault may be its own.
var errSuspect = errors.New("many clusters went silent at once")

// pick returns the clusters of the decision, in alphabetical order. Who is in stays as long as it may; then come those with the most free.
// A cluster that does not report is not picked: what it said last is no longer known.
func pick(statuses []*v1alpha1.ClusterStatus, in sets.Set[string], want want) ([]string, error) {
	type candidate struct {
		name string
		in   bool
		free int64
	}
	var candidates []candidate
	for _, s := range statuses {
		if meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionHubSuspect) {
			return nil, errSuspect
		}
		c := candidate{name: s.Name, in: in.Has(s.Name), free: freeOf(s, want.resource)}
		switch s.Status.Phase {
		case v1alpha1.ClusterReady:
			if c.free >= want.free || c.in && c.free >= want.keep {
				candidates = append(candidates, c)
			}
		case v1alpha1.ClusterNotReady:
			// It reports that it is ill. Nothing new goes there, and what runs there may still run.
			if c.in && c.free >= want.keep {
				candidates = append(candidates, c)
			}
		}
	}
	slices.SortFunc(candidates, func(a, b candidate) int {
		if a.in != b.in {
			if a.in {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.free, a.free), cmp.Compare(a.name, b.name))
	})
	if want.clusters > 0 && len(candidates) > want.clusters {
		candidates = candidates[:want.clusters]
	}
	picked := []string{}
	for _, c := range candidates {
		picked = append(picked, c.name)
	}
	slices.Sort(picked)
	return picked, nil
}

// freeOf is how much of a resource no pod has asked for, 0 where nothing is known of it.
func freeOf(s *v1alpha1.ClusterStatus, resource string) int64 {
	if s.Status.Resources == nil {
		return 0
	}
	amount := s.Status.Resources.Available[corev1.ResourceName(resource)]
	return amount.Value()
}
