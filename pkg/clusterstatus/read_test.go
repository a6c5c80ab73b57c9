package clusterstatus_test

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
)

// TestRead asks the engine what the planner of rollouts needs to know.
func TestRead(t *testing.T) {
	h := newHub(t)
	r := h.start()
	barrier := func() {
		t.Helper()
		if _, err := r.engine.Barrier(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	barrier()
	if found := r.engine.Clusters([]string{"fleet"}); len(found) > 0 || r.engine.MassSilence() {
		t.Errorf("nothing has %v", found)
	}
	uid := h.register("x", 1)
	h.register("y", 1)
	barrier()
	found, ok := r.engine.Cluster("fleet/x")
	if !ok || found.Profile.UID != uid || found.Status.Status.Phase != binnacle.ClusterUnknown {
		t.Errorf("a cluster that was made a moment ago: %v, %+v", ok, found)
	}
	if _, ok := r.engine.Cluster("fleet/nobody"); ok {
		t.Error("nobody is found")
	}
	for _, test := range []struct {
		namespaces []string
		want       int
	}{{[]string{"fleet"}, 2}, {[]string{"flee", "fleet/x"}, 0}, {nil, 0}} {
		if found := r.engine.Clusters(test.namespaces); len(found) != test.want {
			t.Errorf("%v: %d clusters", test.namespaces, len(found))
		}
	}
	x := "x"
	for name, key := range map[string]string{"one-0": "one", "one": ""} {
		decision := &multicluster.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "fleet", Labels: map[string]string{}},
			Decisions: multicluster.ClusterDecisions{{ClusterProfileRef: multicluster.ClusterProfileReference{Name: &x}}}}
		if key != "" {
			decision.Labels[multicluster.DecisionKeyLabel] = key
		} else {
			other := "y"
			decision.Decisions[0].ClusterProfileRef.Name = &other
		}
		h.put("placementdecisions", name, decision)
	}
	barrier()
	if got := r.engine.Decision("fleet", "one"); !slices.Equal(got, []string{"fleet/x"}) {
		t.Errorf("the decision has %v: one without a key is none of it", got)
	}
	if got := r.engine.Decision("elsewhere", "one"); len(got) > 0 {
		t.Errorf("a decision of another namespace has %v", got)
	}
	h.delete("clusterprofiles", "x")
	barrier()
	if _, ok := r.engine.Cluster("fleet/x"); ok {
		t.Error("a cluster that is gone is found")
	}
}
