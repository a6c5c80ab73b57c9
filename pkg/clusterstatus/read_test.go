package clusterstatus_test

import (
	"fmt"
	"slices"
	"strings"
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
	if got, whole := r.engine.Decision("fleet", "one"); !slices.Equal(got, []string{"fleet/x"}) || !whole {
		t.Errorf("the decision has %v: one without a key is none of it", got)
	}
	if got, whole := r.engine.Decision("elsewhere", "one"); len(got) > 0 || !whole {
		t.Errorf("a decision of another namespace has %v", got)
	}
	h.delete("clusterprofiles", "x")
	barrier()
	if _, ok := r.engine.Cluster("fleet/x"); ok {
		t.Error("a cluster that is gone is found")
	}
}

// TestDecisionIsWhole writes slices as producers do, and wants half of a change not to be taken for a decision.
func TestDecisionIsWhole(t *testing.T) {
	h := newHub(t)
	r := h.start()
	// Each slice is index/revision/count, with - for what it does not say.
	for _, test := range []struct {
		says  string
		whole bool
	}{
		{"", true},
		{"-/-/-", true},
		{"0/-/- 1/-/-", true},
		{"0/7/-", true},
		{"0/7/- 1/8/-", true}, // Nothing says how many there are.
		{"0/-/1 1/-/1", true},
		{"0/7/1", true},
		{"0/a/2 1/a/2", true},
		{"1/7/2 0/7/2", true},
		{"0/7/2", false},
		{"1/7/1", false},
		{"0/7/2 1/8/2", false},
		{"0/8/3 1/7/2 2/8/3", false},
		{"0/7/1 1/8/2", false},
		{"0/8/2 1/8/2 2/7/3", false}, // The third is about to be deleted.
		{"0/8/2 2/8/2", false},
		{"0/8/2 0/8/2", false},
		{"0/8/2 -/-/-", false},
	} {
		said := strings.Fields(test.says)
		for i, says := range said {
			part := strings.Split(says, "/")
			decision := &multicluster.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("d", i), Namespace: "fleet",
				Labels: map[string]string{multicluster.DecisionKeyLabel: "one"}, Annotations: map[string]string{}}, Decisions: multicluster.ClusterDecisions{}}
			for k, set := range []func(string){
				func(s string) { decision.Labels[multicluster.DecisionIndexLabel] = s }, func(s string) { decision.Labels[binnacle.LabelDecisionRevision] = s },
				func(s string) { decision.Annotations[binnacle.AnnotationDecisionSlices] = s },
			} {
				if part[k] != "-" {
					set(part[k])
				}
			}
			h.put("placementdecisions", decision.Name, decision)
		}
		for i := len(said); i < 3; i++ {
			h.delete("placementdecisions", fmt.Sprint("d", i))
		}
		if _, err := r.engine.Barrier(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, whole := r.engine.Decision("fleet", "one"); whole != test.whole {
			t.Errorf("%q is whole: %v", test.says, whole)
		}
	}
}
