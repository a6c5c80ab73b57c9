package expression_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/rollout/expression"
)

var registered = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// cluster is one with eight GPUs of which some are free.
type cluster struct {
	profile *multicluster.ClusterProfile
	status  *binnacle.ClusterStatus
}

func newCluster(name string, freeGPUs int64) cluster {
	meta := metav1.ObjectMeta{Name: name, Namespace: "fleet", UID: "u", CreationTimestamp: metav1.NewTime(registered),
		Labels: map[string]string{"env": "prod", "example.com/tier": "1"}, Annotations: map[string]string{"secret": "s"}}
	return cluster{
		&multicluster.ClusterProfile{
			ObjectMeta: meta,
			Spec:       multicluster.ClusterProfileSpec{DisplayName: "The " + name, ClusterManager: multicluster.ClusterManager{Name: ptr.To("m")}},
			Status: multicluster.ClusterProfileStatus{
				Version:    multicluster.ClusterVersion{Kubernetes: "v1.36.1"},
				Properties: []multicluster.Property{{Name: "region", Value: "eu-1", LastObservedTime: ptr.To[multicluster.Timestamp]("2026-03-01T00:00:00Z")}},
				Conditions: []metav1.Condition{{Type: "Joined", Status: metav1.ConditionTrue, Reason: "Joined", LastTransitionTime: metav1.NewTime(registered)}},
			},
		},
		&binnacle.ClusterStatus{ObjectMeta: meta, Status: binnacle.ClusterStatusStatus{
			Phase: binnacle.ClusterReady, KubernetesVersion: "v1.37.2", LastReportTime: ptr.To(metav1.NewTime(registered.Add(time.Hour))),
			Nodes: &binnacle.NodeCounts{Total: 3, Ready: 2},
			Resources: &binnacle.ClusterResources{
				Available:   corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(freeGPUs, resource.DecimalSI), "memory": resource.MustParse("10Gi")},
				Allocatable: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")},
			},
			Conditions: []metav1.Condition{{Type: binnacle.ConditionReady, Status: metav1.ConditionTrue}},
			Properties: []binnacle.SourcedProperty{{Name: "region", Value: "eu-1", Source: binnacle.SourceClusterProfile}, {Name: "kernel", Value: "6.8"}},
			Placements: binnacle.PlacementSummary{Count: 1, Keys: []string{"fleet/gpu"}},
		}},
	}
}

func newCompiler(t testing.TB) *expression.Compiler {
	t.Helper()
	compiler, err := expression.NewCompiler(16)
	if err != nil {
		t.Fatal(err)
	}
	return compiler
}

func compile(t testing.TB, text string) *expression.Program {
	t.Helper()
	program, err := newCompiler(t).Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	return program
}
