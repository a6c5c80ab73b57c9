package main

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	binnacle "github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha2"
)

// members are the clusters of slices.
func members(stored []v1alpha2.PlacementDecision) sets.Set[string] {
	in := sets.New[string]()
	for i := range stored {
		in.Insert(namesOf(&stored[i])...)
	}
	return in
}

func namesOf(s *v1alpha2.PlacementDecision) []string {
	var names []string
	for _, d := range s.Decisions {
		names = append(names, ptr.Deref(d.ClusterProfileRef.Name, ""))
	}
	return names
}

// place says which clusters are in which slice. Who stays keeps its slice, so that a reader between two writes misses nobody; who comes fills
// gaps, and then a new slice. Empty slices at the end go, except the first: nobody is a decision too.
func place(stored []v1alpha2.PlacementDecision, picked []string) [][]string {
	placed := make([][]string, max(1, len(stored)))
	come := sets.New(picked...)
	for i := range stored {
		for _, name := range namesOf(&stored[i]) {
			if come.Has(name) {
				placed[i] = append(placed[i], name)
				come.Delete(name)
			}
		}
	}
	for i, next := 0, sets.List(come); len(next) > 0; i++ {
		if i == len(placed) {
			placed = append(placed, nil)
		}
		n := min(perSlice-len(placed[i]), len(next))
		placed[i], next = append(placed[i], next[:n]...), next[n:]
		slices.Sort(placed[i])
	}
	for len(placed) > 1 && len(placed[len(placed)-1]) == 0 {
		placed = placed[:len(placed)-1]
	}
	return placed
}

// newest is the highest revision of any slice.
func newest(stored []v1alpha2.PlacementDecision) int {
	highest := 0
	for i := range stored {
		revision, _ := strconv.Atoi(stored[i].Labels[binnacle.LabelDecisionRevision])
		highest = max(highest, revision)
	}
	return highest
}
