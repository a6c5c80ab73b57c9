package slices

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
)

// Verb is what a write does.
type Verb string

// The verbs of a write.
const (
	Create Verb = "create"
	Update Verb = "update"
	Delete Verb = "delete"
)

// Write is one write to the storage of PlacementDecisions.
type Write struct {
	Verb Verb
	// Slice is what is stored afterwards, with the resourceVersion that it was computed from; for a deletion, what is deleted.
	Slice *multicluster.PlacementDecision
}

// Writes are what brings the stored slices of a Rollout to what they should be, in the order to do it in: a reader of all slices finds, after
// any of them, every cluster that was in before and is in at the end. First comes what adds, then what only takes out, then what deletes.
// Whoever stops in the middle, calls it again with what is stored then.
//
// Since a cluster stays in its slice, it is never seen to move, unless somebody else wrote the slices. Who has to move stays visible in
// slices beyond the last, which are created first and deleted last.
func Writes(rollout *binnacle.Rollout, stored []*multicluster.PlacementDecision) []Write {
	desired := Desired(rollout)
	old := map[string]*multicluster.PlacementDecision{}
	for _, slice := range stored {
		old[slice.Name] = slice
	}
	bridges := bridge(rollout, desired, stored)
	var creates, adds, removes, deletes []Write
	for _, slice := range bridges {
		creates = append(creates, Write{Create, slice})
	}
	for _, want := range desired {
		have, exists := old[want.Name]
		delete(old, want.Name)
		if !exists {
			creates = append(creates, Write{Create, want})
			continue
		}
		updated := merge(have, want)
		switch {
		case apiequality.Semantic.DeepEqual(have, updated):
		case members(want).isSubsetOf(members(have)):
			removes = append(removes, Write{Update, updated})
		default:
			adds = append(adds, Write{Update, updated})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		deletes = append(deletes, Write{Delete, old[name]})
	}
	for _, slice := range bridges {
		deletes = append(deletes, Write{Delete, slice})
	}
	return slices.Concat(creates, adds, removes, deletes)
}

// merge keeps of a stored slice what a Rollout says nothing about.
func merge(have, want *multicluster.PlacementDecision) *multicluster.PlacementDecision {
	updated := have.DeepCopy()
	if updated.Labels == nil {
		updated.Labels = map[string]string{}
	}
	if updated.Annotations == nil {
		updated.Annotations = map[string]string{}
	}
	delete(updated.Labels, multicluster.PlacementKeyLabel)
	maps.Copy(updated.Labels, want.Labels)
	maps.Copy(updated.Annotations, want.Annotations)
	updated.OwnerReferences, updated.Decisions, updated.SchedulerName = want.OwnerReferences, want.Decisions, want.SchedulerName
	return updated
}

// bridge makes slices of those that are stored in another slice than they should be.
func bridge(rollout *binnacle.Rollout, desired, stored []*multicluster.PlacementDecision) []*multicluster.PlacementDecision {
	by, somewhere := map[string]set{}, set{}
	free := len(desired)
	for _, slice := range stored {
		by[slice.Name] = members(slice)
		maps.Copy(somewhere, by[slice.Name])
		if index, err := strconv.Atoi(slice.Name[strings.LastIndexByte(slice.Name, '-')+1:]); err == nil {
			free = max(free, index+1)
		}
	}
	var moved multicluster.ClusterDecisions
	for _, slice := range desired {
		for _, decision := range slice.Decisions {
			if key := keyOf(slice, decision); somewhere[key] && !by[slice.Name][key] {
				moved = append(moved, decision)
			}
		}
	}
	var bridges []*multicluster.PlacementDecision
	for chunk := range slices.Chunk(moved, multicluster.MaxDecisionsPerSlice) {
		slice := empty(rollout, free+len(bridges), len(desired))
		slice.Decisions = slices.Clone(chunk)
		bridges = append(bridges, slice)
	}
	return bridges
}

// set is the clusters of slices.
type set map[string]bool

func members(slice *multicluster.PlacementDecision) set {
	found := set{}
	for _, decision := range slice.Decisions {
		found[keyOf(slice, decision)] = true
	}
	return found
}

func keyOf(slice *multicluster.PlacementDecision, decision multicluster.ClusterDecision) string {
	ref := decision.ClusterProfileRef
	return cmp.Or(ptr.Deref(ref.Namespace, ""), slice.Namespace) + "/" + ptr.Deref(ref.Name, "")
}

func (s set) isSubsetOf(other set) bool {
	for key := range s {
		if !other[key] {
			return false
		}
	}
	return true
}
