package clusterstatus

import (
	"maps"
	"slices"
	"strconv"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
)

// placements is the index from a cluster to the decisions that name it. Clusters and decisions are called namespace/name.
type placements struct {
	// slices has what each PlacementDecision says, by its key.
	slices map[string]slice
	// of counts, for each cluster and decision, the slices of the decision that name the cluster.
	of map[string]map[string]int
}

// slice is one PlacementDecision: which decision it belongs to, and which clusters it names.
type slice struct {
	decision string
	// keyed says that the decision has a key: without one, its name stands for it.
	keyed    bool
	clusters map[string]struct{}
	// revision, index and count are what the slice says of the whole decision, empty where it says nothing.
	revision, index, count string
}

func newPlacements() *placements {
	return &placements{slices: map[string]slice{}, of: map[string]map[string]int{}}
}

// set takes a PlacementDecision in, nil where it is gone, and calls touched for each cluster whose decisions may have changed.
func (p *placements) set(key string, object *multicluster.PlacementDecision, touched func(cluster string)) {
	before, after := p.slices[key], slice{}
	if object != nil {
		after = sliceOf(object)
		p.slices[key] = after
	} else {
		delete(p.slices, key)
	}
	for cluster := range before.clusters {
		if _, stays := after.clusters[cluster]; !stays || before.decision != after.decision {
			p.add(cluster, before.decision, -1)
			touched(cluster)
		}
	}
	for cluster := range after.clusters {
		if _, was := before.clusters[cluster]; !was || before.decision != after.decision {
			p.add(cluster, after.decision, 1)
			touched(cluster)
		}
	}
}

func sliceOf(object *multicluster.PlacementDecision) slice {
	name := object.Labels[multicluster.DecisionKeyLabel]
	keyed := name != ""
	if !keyed {
		name = object.Name
	}
	s := slice{decision: object.Namespace + "/" + name, keyed: keyed, clusters: map[string]struct{}{}, revision: object.Labels[binnacle.LabelDecisionRevision],
		index: object.Labels[multicluster.DecisionIndexLabel], count: object.Annotations[binnacle.AnnotationDecisionSlices]}
	for _, chosen := range object.Decisions {
		ref := chosen.ClusterProfileRef
		if ref.Name == nil {
			continue
		}
		namespace := object.Namespace
		if ref.Namespace != nil && *ref.Namespace != "" {
			namespace = *ref.Namespace
		}
		s.clusters[namespace+"/"+*ref.Name] = struct{}{}
	}
	return s
}

// isWhole says whether slices of one decision are all of one revision, and all that there are of it (docs/consuming-decisions.md). Where none says
// its revision and their number, nobody can tell: they are taken as they stand.
func isWhole(of []slice) bool {
	tells := func(s slice) bool { return s.revision != "" && s.count != "" }
	if !slices.ContainsFunc(of, tells) {
		return true
	}
	indexes := map[string]bool{}
	for _, s := range of {
		if s.revision != of[0].revision || s.count != strconv.Itoa(len(of)) {
			return false
		}
		indexes[s.index] = true
	}
	for i := range of {
		if !indexes[strconv.Itoa(i)] {
			return false
		}
	}
	return true
}

func (p *placements) add(cluster, decision string, n int) {
	counts := p.of[cluster]
	if counts == nil {
		counts = map[string]int{}
		p.of[cluster] = counts
	}
	counts[decision] += n
	if counts[decision] == 0 {
		delete(counts, decision)
	}
	if len(counts) == 0 {
		delete(p.of, cluster)
	}
}

// keys returns the decisions that name a cluster, sorted.
func (p *placements) keys(cluster string) []string {
	return slices.Sorted(maps.Keys(p.of[cluster]))
}
