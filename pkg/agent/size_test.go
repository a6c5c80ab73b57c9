package agent

import (
	"fmt"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// The cluster that the agent is to be small in: the largest that Kubernetes supports has 5,000 nodes, and rarely more than 100,000 pods.
const manyNodes, manyPods = 5000, 100_000

// largePod is what a pod is like that an API server sends: every one has names and quantities of its own.
func largePod(n int) *corev1.Pod {
	pod := newPod(fmt.Sprintf("deployment-7c6f9d8b5-%06d", n), fmt.Sprintf("node-%04d", n%manyNodes), "cpu", "100m", "memory", "128Mi")
	pod.Spec.InitContainers = []corev1.Container{container("i", "cpu", "10m")}
	pod.Spec.Containers = append(pod.Spec.Containers, sidecar("mesh", "cpu", "10m", "memory", "32Mi", "ephemeral-storage", "1Gi"))
	pod.Annotations = map[string]string{"a": fmt.Sprint("a long text that nobody keeps ", n)}
	if data, err := pod.Marshal(); err != nil || pod.Unmarshal(data) != nil {
		panic("a pod does not survive its own encoding")
	}
	return pod
}

func largeInventory(tb testing.TB) *inventory {
	tb.Helper()
	i := newInventory()
	for n := range manyNodes {
		node := newNode(fmt.Sprintf("node-%04d", n), "cpu", "64", "memory", "256Gi", "pods", "110", "ephemeral-storage", "1Ti", "hugepages-2Mi", "0", "nvidia.com/gpu", "8")
		if err := (nodeStore{i}).Add(node); err != nil {
			tb.Fatal(err)
		}
	}
	for n := range manyPods {
		if err := (podStore{i}).Add(largePod(n)); err != nil {
			tb.Fatal(err)
		}
	}
	i.nodesListed, i.podsListed = true, true
	return i
}

// TestMemory wants a large cluster to be kept in 60 MB: whole pods would take ten times as much.
func TestMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	i := largeInventory(t)
	runtime.GC()
	runtime.ReadMemStats(&after)
	kept := float64(after.HeapAlloc) - float64(before.HeapAlloc)
	t.Logf("%d nodes and %d pods are kept in %.1f MB", len(i.nodes), len(i.pods), kept/1e6)
	if kept > 60e6 {
		t.Errorf("kept in %.1f MB", kept/1e6)
	}
	runtime.KeepAlive(i)
}

// BenchmarkSummarize is what one report costs: a walk over the nodes, whatever the number of pods.
func BenchmarkSummarize(b *testing.B) {
	i := largeInventory(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, ok := i.summarize(nil); !ok {
			b.Fatal("not known")
		}
	}
}

// BenchmarkEvent is what one event of a pod costs.
func BenchmarkEvent(b *testing.B) {
	i := largeInventory(b)
	pod := largePod(7)
	b.ReportAllocs()
	for b.Loop() {
		if err := (podStore{i}).Update(pod); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkList is what the first list costs, once it has arrived.
func BenchmarkList(b *testing.B) {
	pods := make([]any, manyPods)
	for n := range pods {
		pods[n] = largePod(n)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := (podStore{newInventory()}).Replace(pods, ""); err != nil {
			b.Fatal(err)
		}
	}
}
