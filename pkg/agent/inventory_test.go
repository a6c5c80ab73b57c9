package agent

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// newNode makes a ready node that pods can have all of.
func newNode(name string, pairs ...string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
		Capacity: list(pairs...), Allocatable: list(pairs...),
		Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse}, {Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
	}}
}

func newPod(name, node string, pairs ...string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
		Spec:   corev1.PodSpec{NodeName: node, Containers: []corev1.Container{container("a", pairs...)}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning}}
}

// inventoryOf is what a reflector makes of these objects.
func inventoryOf(t *testing.T, nodes []*corev1.Node, pods []*corev1.Pod) *inventory {
	t.Helper()
	i := newInventory()
	if err := (nodeStore{i}).Replace(anys(nodes), "1"); err != nil {
		t.Fatal(err)
	}
	if err := (podStore{i}).Replace(anys(pods), "1"); err != nil {
		t.Fatal(err)
	}
	return i
}

func anys[T any](list []T) []any {
	var all []any
	for _, one := range list {
		all = append(all, one)
	}
	return all
}

// words are the quantities of a list as they are written.
func words(list corev1.ResourceList) map[string]string {
	all := map[string]string{}
	for name, quantity := range list {
		all[string(name)] = quantity.String()
	}
	return all
}

func TestSummarize(t *testing.T) {
	cordoned := newNode("cordoned", "cpu", "4")
	cordoned.Spec.Unschedulable = true
	notReady, silent := newNode("not-ready", "cpu", "4"), newNode("silent", "cpu", "4")
	notReady.Status.Conditions[1].Status, silent.Status.Conditions[1].Status = corev1.ConditionFalse, corev1.ConditionUnknown
	young := newNode("young")
	young.Status = corev1.NodeStatus{}
	reserved := newNode("reserved", "cpu", "4", "memory", "8Gi")
	reserved.Status.Allocatable = list("cpu", "3800m", "memory", "7Gi")
	ended, waits := newPod("ended", "n", "cpu", "1"), newPod("waits", "", "cpu", "1")
	ended.Status.Phase = corev1.PodSucceeded
	failed := newPod("failed", "n", "cpu", "1")
	failed.Status.Phase = corev1.PodFailed
	type m = map[string]string
	tests := []struct {
		name                             string
		nodes                            []*corev1.Node
		pods                             []*corev1.Pod
		only                             []string
		total, ready                     int32
		capacity, allocatable, available m
	}{
		{name: "nothing", capacity: m{}, allocatable: m{}, available: m{}},
		{"nodes add up", []*corev1.Node{newNode("a", "cpu", "2", "memory", "1Gi"), newNode("b", "cpu", "500m", "memory", "2Gi", "nvidia.com/gpu", "8")}, nil, nil,
			2, 2, m{"cpu": "2500m", "memory": "3Gi", "nvidia.com/gpu": "8"}, m{"cpu": "2500m", "memory": "3Gi", "nvidia.com/gpu": "8"}, m{"cpu": "2500m", "memory": "3Gi", "nvidia.com/gpu": "8"}},
		{"pods take", []*corev1.Node{reserved, newNode("gpu", "cpu", "1", "nvidia.com/gpu", "4")},
			[]*corev1.Pod{newPod("a", "reserved", "cpu", "800m", "memory", "1Gi"), newPod("b", "gpu", "nvidia.com/gpu", "3")}, nil,
			2, 2, m{"cpu": "5", "memory": "8Gi", "nvidia.com/gpu": "4"}, m{"cpu": "4800m", "memory": "7Gi", "nvidia.com/gpu": "4"}, m{"cpu": "4", "memory": "6Gi", "nvidia.com/gpu": "1"}},
		{"a pod is one of pods", []*corev1.Node{newNode("n", "pods", "110")}, []*corev1.Pod{newPod("a", "n"), newPod("b", "n", "cpu", "1")}, nil,
			1, 1, m{"pods": "110"}, m{"pods": "110"}, m{"pods": "108"}},
		{"ended and waiting pods take nothing", []*corev1.Node{newNode("n", "cpu", "4", "pods", "9")}, []*corev1.Pod{ended, failed, waits}, nil,
			1, 1, m{"cpu": "4", "pods": "9"}, m{"cpu": "4", "pods": "9"}, m{"cpu": "4", "pods": "9"}},
		{"cordoned and not ready", []*corev1.Node{cordoned, notReady, silent, newNode("n", "cpu", "4")}, []*corev1.Pod{newPod("a", "cordoned", "cpu", "2"), newPod("b", "n", "cpu", "1")}, nil,
			4, 2, m{"cpu": "16"}, m{"cpu": "4"}, m{"cpu": "3"}},
		{"none takes pods: nothing is left, and known", []*corev1.Node{cordoned}, nil, nil, 1, 1, m{"cpu": "4"}, m{"cpu": "0"}, m{"cpu": "0"}},
		{"a node that has said nothing yet", []*corev1.Node{young}, nil, nil, 1, 0, m{}, m{}, m{}},
		{"too much of one node is not taken from another", []*corev1.Node{newNode("a", "cpu", "2"), newNode("b", "cpu", "2")}, []*corev1.Pod{newPod("p", "a", "cpu", "3")}, nil,
			2, 2, m{"cpu": "4"}, m{"cpu": "4"}, m{"cpu": "2"}},
		{"a pod of a node that is gone", []*corev1.Node{newNode("a", "cpu", "2")}, []*corev1.Pod{newPod("p", "gone", "cpu", "1")}, nil, 1, 1, m{"cpu": "2"}, m{"cpu": "2"}, m{"cpu": "2"}},
		{"some resources only", []*corev1.Node{newNode("a", "cpu", "2", "memory", "1Gi")}, nil, []string{"memory", "nvidia.com/gpu"}, 1, 1, m{"memory": "1Gi"}, m{"memory": "1Gi"}, m{"memory": "1Gi"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			nodes, resources, ok := inventoryOf(t, test.nodes, test.pods).summarize(test.only)
			if !ok {
				t.Fatal("not known")
			}
			if diff := cmp.Diff(&v1alpha1.NodeCounts{Total: test.total, Ready: test.ready}, nodes); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
			got := []m{words(resources.Capacity), words(resources.Allocatable), words(resources.Available)}
			if diff := cmp.Diff([]m{test.capacity, test.allocatable, test.available}, got); diff != "" {
				t.Errorf("capacity, allocatable, available (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHalfAnInventoryIsNone wants nothing to be said before both lists are there.
func TestHalfAnInventoryIsNone(t *testing.T) {
	i := newInventory()
	for _, step := range []struct {
		name string
		do   func() error
		want bool
	}{
		{"an event before the list", func() error { return nodeStore{i}.Add(newNode("a", "cpu", "1")) }, false},
		{"nodes only", func() error { return nodeStore{i}.Replace([]any{newNode("a", "cpu", "1")}, "") }, false},
		{"both", func() error { return podStore{i}.Replace(nil, "") }, true},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if _, _, ok := i.summarize(nil); ok != step.want || i.listed() != step.want {
			t.Errorf("%s: known is %v, want %v", step.name, ok, step.want)
		}
	}
}

// TestRunningSums changes an inventory event by event, and wants it to say after each what one says that is made anew of the same objects.
func TestRunningSums(t *testing.T) {
	nodes, pods := map[string]*corev1.Node{}, map[string]*corev1.Pod{}
	events := inventoryOf(t, nil, nil)
	random := rand.New(rand.NewPCG(1, 2))
	for step := range 3000 {
		name := strconv.Itoa(random.IntN(12))
		var err error
		switch random.IntN(6) {
		case 0:
			nodes[name] = newNode(name, "cpu", strconv.Itoa(random.IntN(9)), "nvidia.com/gpu", "4", "pods", "5")
			nodes[name].Spec.Unschedulable = random.IntN(4) == 0
			err = nodeStore{events}.Update(nodes[name])
		case 1:
			err = nodeStore{events}.Delete(newNode(name))
			delete(nodes, name)
		case 2:
			err = podStore{events}.Delete(newPod(name, ""))
			delete(pods, name)
		default:
			pods[name] = newPod(name, strconv.Itoa(random.IntN(12)), "cpu", fmt.Sprint(random.IntN(900), "m"), "nvidia.com/gpu", strconv.Itoa(random.IntN(3)))
			if random.IntN(5) == 0 {
				pods[name].Status.Phase = corev1.PodSucceeded
			}
			err = podStore{events}.Update(pods[name])
		}
		if err != nil {
			t.Fatal(err)
		}
		anew := inventoryOf(t, values(nodes), values(pods))
		gotNodes, got, _ := events.summarize(nil)
		wantNodes, want, _ := anew.summarize(nil)
		if diff := cmp.Diff([]any{wantNodes, want}, []any{gotNodes, got}); diff != "" {
			t.Fatalf("after %d events (-anew +running):\n%s", step+1, diff)
		}
		if len(events.nodes) != len(anew.nodes) || len(events.pods) != len(anew.pods) {
			t.Fatalf("after %d events: %d nodes and %d pods are kept, %d and %d anew", step+1, len(events.nodes), len(events.pods), len(anew.nodes), len(anew.pods))
		}
	}
	// A list in the middle of it makes things right as well.
	if err := (podStore{events}).Replace(nil, ""); err != nil {
		t.Fatal(err)
	}
	if err := (nodeStore{events}).Replace(nil, ""); err != nil {
		t.Fatal(err)
	}
	if len(events.nodes)+len(events.pods) != 0 {
		t.Errorf("%d nodes and %d pods are kept of none", len(events.nodes), len(events.pods))
	}
}

func values[T any](m map[string]T) []T {
	var all []T
	for _, one := range m {
		all = append(all, one)
	}
	return all
}

// TestNumbersDoNotTurnRound sums up more than the numbers hold.
func TestNumbersDoNotTurnRound(t *testing.T) {
	_, resources, _ := inventoryOf(t, []*corev1.Node{newNode("a", "cpu", "9E", "memory", "7Ei"), newNode("b", "cpu", "9E", "memory", "7Ei")}, nil).summarize(nil)
	for name, quantity := range resources.Capacity {
		if quantity.Sign() <= 0 || quantity.CmpInt64(1<<52) < 0 {
			t.Errorf("%s: %s", name, quantity.String())
		}
	}
}

// TestManyResources wants a report to have no more names than it may, and the ordinary ones among them.
func TestManyResources(t *testing.T) {
	var pairs []string
	for n := range 300 {
		pairs = append(pairs, fmt.Sprintf("a.example/%03d", n), "1")
	}
	_, resources, _ := inventoryOf(t, []*corev1.Node{newNode("a", append(pairs, "memory", "1Gi")...)}, nil).summarize(nil)
	if _, ok := resources.Capacity[corev1.ResourceMemory]; !ok || len(resources.Capacity) != maxResources {
		t.Errorf("%d resources, memory among them: %v", len(resources.Capacity), ok)
	}
}
