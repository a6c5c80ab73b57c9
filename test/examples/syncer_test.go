package examples

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	multicluster "github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha2"
)

// TestSyncerWaitsForTheWholeDecision writes slices as another producer would, in an order that shows half of a change, and wants the syncer to
// act on whole ones only.
func TestSyncerWaitsForTheWholeDecision(t *testing.T) {
	t.Parallel() // It mostly waits.
	f := newFleet(t, "depots", 3)
	decisions := f.hub.MulticlusterV1alpha2().PlacementDecisions(f.namespace)
	slice := func(index int, revision, count string, clusters ...string) *multicluster.PlacementDecision {
		s := &multicluster.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("mine-", index),
			Labels:      map[string]string{multicluster.DecisionKeyLabel: "mine", multicluster.DecisionIndexLabel: fmt.Sprint(index), v1alpha1.LabelDecisionRevision: revision},
			Annotations: map[string]string{v1alpha1.AnnotationDecisionSlices: count}}, Decisions: multicluster.ClusterDecisions{}}
		for _, cluster := range clusters {
			s.Decisions = append(s.Decisions, multicluster.ClusterDecision{ClusterProfileRef: multicluster.ClusterProfileReference{Name: &cluster}})
		}
		return s
	}
	put := func(s *multicluster.PlacementDecision) {
		t.Helper()
		old, err := decisions.Get(t.Context(), s.Name, metav1.GetOptions{})
		if err == nil {
			s.ResourceVersion = old.ResourceVersion
			_, err = decisions.Update(t.Context(), s, metav1.UpdateOptions{})
		} else {
			_, err = decisions.Create(t.Context(), s, metav1.CreateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put(slice(0, "1", "2", f.clusters[0]))
	put(slice(1, "1", "2", f.clusters[1]))
	f.syncer("mine")
	f.awaitOn("the first revision", f.clusters[:2])

	put(slice(0, "2", "2", f.clusters[2]))
	f.awaitRepair(1) // It is at work, and has had time to see the slice.
	if got := f.having(); !slices.Equal(got, f.clusters[:2]) {
		t.Errorf("half of a change was acted on: %v", got)
	}
	put(slice(1, "2", "2", f.clusters[1]))
	f.awaitOn("the second revision", f.clusters[1:])

	// What somebody else brought is not its to remove.
	if _, err := f.member(0).CoreV1().ConfigMaps(f.clusters[0]).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "app"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	kubectl(t, "annotate", "clusterprofile", f.clusters[0], "-n", f.namespace, "touched=yes")
	f.awaitRepair(1)
	if got := f.having(); !slices.Equal(got, f.clusters) {
		t.Errorf("what somebody else brought was removed: left are %v", got)
	}
}

// awaitRepair deletes what the syncer brought to a cluster and touches its ClusterProfile, and waits until it is back.
func (f *fleet) awaitRepair(i int) {
	f.t.Helper()
	maps := f.member(i).CoreV1().ConfigMaps(f.clusters[i])
	if err := maps.Delete(f.t.Context(), "app", metav1.DeleteOptions{}); err != nil {
		f.t.Fatal(err)
	}
	kubectl(f.t, "annotate", "clusterprofile", f.clusters[i], "-n", f.namespace, "touched="+time.Now().Format(time.RFC3339Nano), "--overwrite")
	within(f.t, "the repair", func() bool {
		_, err := maps.Get(f.t.Context(), "app", metav1.GetOptions{})
		return err == nil
	}, func() any { return nil })
}
