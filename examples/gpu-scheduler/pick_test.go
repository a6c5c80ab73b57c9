package main

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// status is a cluster in a phase, with GPUs that are free; none is known where it is empty.
func status(name string, phase v1alpha1.ClusterPhase, free string, conditions ...string) *v1alpha1.ClusterStatus {
	s := &v1alpha1.ClusterStatus{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1alpha1.ClusterStatusStatus{Phase: phase}}
	if free != "" {
		s.Status.Resources = &v1alpha1.ClusterResources{Available: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(free)}}
	}
	for _, c := range conditions {
		s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{Type: c, Status: metav1.ConditionTrue})
	}
	return s
}

func TestPick(t *testing.T) {
	const ready, ill, away, unknown = v1alpha1.ClusterReady, v1alpha1.ClusterNotReady, v1alpha1.ClusterUnreachable, v1alpha1.ClusterUnknown
	for name, test := range map[string]struct {
		in       string
		clusters int
		statuses []*v1alpha1.ClusterStatus
		want     string
	}{
		"enough is free":               {"", 0, []*v1alpha1.ClusterStatus{status("c", ready, "9"), status("b", ready, "7"), status("a", ready, "8"), status("d", ready, "")}, "a c"},
		"the most first":               {"", 2, []*v1alpha1.ClusterStatus{status("a", ready, "8"), status("b", ready, "16"), status("c", ready, "12")}, "b c"},
		"who is in stays":              {"a", 2, []*v1alpha1.ClusterStatus{status("a", ready, "4"), status("b", ready, "16"), status("c", ready, "12")}, "a b"},
		"until it has too little":      {"a", 2, []*v1alpha1.ClusterStatus{status("a", ready, "3"), status("b", ready, "16"), status("c", ready, "12")}, "b c"},
		"near the border nobody comes": {"", 0, []*v1alpha1.ClusterStatus{status("a", ready, "4")}, ""},
		"who does not report":          {"a b", 0, []*v1alpha1.ClusterStatus{status("a", away, "16"), status("b", unknown, "16"), status("c", ready, "8")}, "c"},
		"who is ill stays":             {"a", 0, []*v1alpha1.ClusterStatus{status("a", ill, "8"), status("b", ill, "8")}, "a"},
		"who is no cluster any more":   {"z", 0, []*v1alpha1.ClusterStatus{status("a", ready, "8")}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := pick(test.statuses, sets.New(strings.Fields(test.in)...), want{resource: "nvidia.com/gpu", free: 8, keep: 4, clusters: test.clusters})
			if err != nil || strings.Join(got, " ") != test.want {
				t.Errorf("%q, %v, want %q", got, err, test.want)
			}
		})
	}
	suspect := []*v1alpha1.ClusterStatus{status("a", ready, "8"), status("b", away, "8", v1alpha1.ConditionHubSuspect)}
	if got, err := pick(suspect, sets.New("b"), want{resource: "nvidia.com/gpu", free: 8}); err != errSuspect {
		t.Errorf("while the hub is suspect: %v, %v", got, err)
	}
}
