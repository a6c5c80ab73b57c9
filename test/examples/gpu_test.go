package examples

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha2"
)

// TestGPUs has a scheduler that knows GPUs and not the workload, and a syncer that knows the workload and not why a cluster was chosen: when the
// free GPUs of a cluster fall, it leaves, another comes, and the manifest is where it should be.
func TestGPUs(t *testing.T) {
	t.Parallel() // It mostly waits.
	f := newFleet(t, "ai", 4)
	for i, gpus := range []string{"16", "12", "9", "7"} {
		f.report(i, gpus)
	}
	f.syncer("training")
	scheduler := func() (stop func()) {
		return start(t, f.namespace, "gpu-scheduler", nil, "-namespace="+f.namespace, "-decision-key=training", "-clusters=2", "-settle=500ms")
	}
	kubectl(t, "create", "rolebinding", "decide", "-n", f.namespace, "--clusterrole=binnacle-scheduler", "--user=gpu-scheduler-"+f.namespace)
	stop := scheduler()
	f.awaitOn("the two with the most free GPUs", f.clusters[:2])

	// The first has fewer than would let it in and enough to stay, the second too few. The fourth never has enough.
	f.report(0, "5")
	f.report(1, "2")
	f.awaitOn("the third in place of the second", []string{f.clusters[0], f.clusters[2]})

	// A scheduler that was away decides by what is published: who is in needs less than who would come.
	stop()
	f.report(1, "16")
	stop = scheduler()
	f.report(2, "1")
	f.awaitOn("the second in place of the third", f.clusters[:2])

	f.report(0, "0")
	f.report(1, "0")
	f.awaitOn("that none is left", nil)
	list, err := f.hub.MulticlusterV1alpha2().PlacementDecisions(f.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 || list.Items[0].Decisions == nil || len(list.Items[0].Decisions) != 0 || list.Items[0].Labels[v1alpha2.DecisionIndexLabel] != "0" {
		t.Errorf("a decision for nobody is %+v", list.Items)
	}
	if !slices.Equal(f.having(), nil) {
		t.Error("something is left")
	}
	stop()
}
