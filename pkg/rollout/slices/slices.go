// Package slices is the projection of a Rollout: from who is through to the PlacementDecisions that say so, and to the writes that bring
// what is stored to it. It does no I/O.
//
// It may import apimachinery and pkg/apis only.
package slices

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
)

// Desired are the slices that a Rollout publishes, by their index: none before its first revision, at least one afterwards. A cluster is in
// the slice that the status says. Within a slice clusters are in alphabetical order, so that a slice that did not change is the same
// object (KEP-5313, Lifecycle).
func Desired(rollout *binnacle.Rollout) []*multicluster.PlacementDecision {
	if rollout.Status.Revision == 0 {
		return nil
	}
	desired := make([]*multicluster.PlacementDecision, max(1, rollout.Status.Counts.Slices))
	for i := range desired {
		desired[i] = empty(rollout, i, len(desired))
	}
	for i := range rollout.Status.Clusters {
		c := &rollout.Status.Clusters[i]
		if len(c.History)%2 == 0 {
			continue
		}
		ref := multicluster.ClusterProfileReference{Name: ptr.To(c.Name)}
		if c.Namespace != "" {
			ref.Namespace = ptr.To(c.Namespace)
		}
		slice := desired[c.Slice]
		slice.Decisions = append(slice.Decisions, multicluster.ClusterDecision{ClusterProfileRef: ref})
	}
	for _, slice := range desired {
		slices.SortFunc(slice.Decisions, func(a, b multicluster.ClusterDecision) int {
			return cmp.Or(cmp.Compare(ptr.Deref(a.ClusterProfileRef.Namespace, ""), ptr.Deref(b.ClusterProfileRef.Namespace, "")),
				cmp.Compare(*a.ClusterProfileRef.Name, *b.ClusterProfileRef.Name))
		})
	}
	return desired
}

// empty is a slice without clusters.
func empty(rollout *binnacle.Rollout, index, count int) *multicluster.PlacementDecision {
	output := &rollout.Spec.Output
	labels := map[string]string{
		multicluster.DecisionKeyLabel: output.DecisionKey, multicluster.DecisionIndexLabel: strconv.Itoa(index),
		binnacle.LabelDecisionRevision: strconv.FormatInt(rollout.Status.Revision, 10),
	}
	if output.PlacementKey != "" {
		labels[multicluster.PlacementKeyLabel] = output.PlacementKey
	}
	return &multicluster.PlacementDecision{
		ObjectMeta: metav1.ObjectMeta{
			Name: Name(rollout, index), Namespace: rollout.Namespace, Labels: labels,
			Annotations: map[string]string{binnacle.AnnotationDecisionSlices: strconv.Itoa(count)},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Rollout",
				Name: rollout.Name, UID: rollout.UID, Controller: ptr.To(true)}},
		},
		Decisions:     multicluster.ClusterDecisions{},
		SchedulerName: output.SchedulerName,
	}
}

// Name is the name of a slice.
func Name(rollout *binnacle.Rollout, index int) string {
	return fmt.Sprintf("%s-%d", cmp.Or(rollout.Spec.Output.Name, rollout.Name), index)
}
