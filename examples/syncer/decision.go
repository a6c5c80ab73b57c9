package main

import (
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	binnacle "github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha2"
)

// decision is what all slices of a decision-key say together, at one revision.
type decision struct {
	clusters sets.Set[cache.ObjectName]
	// revision is empty where the producer gives none.
	revision string
	// rollout publishes the decision, and waits for feedback.
	rollout rollout
}

// rollout is one Rollout, and not another that has its name later; empty where something else publishes a decision.
type rollout struct {
	name string
	uid  types.UID
}

// whole puts the slices of one decision-key together. An error says that some are missing, or are of another revision: then the decision is
// being written at this moment, and what was known before it still holds. No slices at all are a decision that was deleted: nobody is in.
//
// A producer that gives neither a revision nor the number of slices is believed as it stands (KEP-5313 asks for neither).
func whole(slices []*v1alpha2.PlacementDecision) (*decision, error) {
	d := &decision{clusters: sets.New[cache.ObjectName]()}
	indexes := sets.New[string]()
	for i, slice := range slices {
		revision, count := slice.Labels[binnacle.LabelDecisionRevision], slice.Annotations[binnacle.AnnotationDecisionSlices]
		if i == 0 {
			d.revision, d.rollout = revision, rolloutOf(slice)
		}
		if revision != d.revision {
			return nil, fmt.Errorf("%s is of revision %q and %s of %q", slices[0].Name, d.revision, slice.Name, revision)
		}
		if count != "" && count != strconv.Itoa(len(slices)) {
			return nil, fmt.Errorf("%s is one of %s slices, and there are %d", slice.Name, count, len(slices))
		}
		index := slice.Labels[v1alpha2.DecisionIndexLabel]
		if count != "" && indexes.Has(index) {
			return nil, fmt.Errorf("two slices have the index %q", index)
		}
		indexes.Insert(index)
		for _, chosen := range slice.Decisions {
			ref := chosen.ClusterProfileRef
			// The namespace of the slice counts where a reference has none. A cluster that is named twice is in once.
			d.clusters.Insert(cache.NewObjectName(ptr.Deref(ref.Namespace, slice.Namespace), ptr.Deref(ref.Name, "")))
		}
	}
	return d, nil
}

// rolloutOf is the Rollout that owns a slice.
func rolloutOf(slice *v1alpha2.PlacementDecision) rollout {
	owner := metav1.GetControllerOf(slice)
	if owner == nil || owner.Kind != "Rollout" || !strings.HasPrefix(owner.APIVersion, binnacle.GroupName+"/") {
		return rollout{}
	}
	return rollout{owner.Name, owner.UID}
}
