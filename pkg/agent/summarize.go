package agent

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// maxResources is how many names a list of a report may have.
const maxResources = 256

// summarize sums up the nodes of the cluster; ok is false as long as nodes or pods are not known. Every node counts for the capacity, and
// those for allocatable and available that take new pods: ready, and not cordoned. only are the names of the resources that are wanted,
// all of them where it is empty.
func (i *inventory) summarize(only []string) (nodes *v1alpha1.NodeCounts, resources *v1alpha1.ClusterResources, ok bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.nodesListed || !i.podsListed {
		return nil, nil, false
	}
	nodes = &v1alpha1.NodeCounts{}
	capacity, allocatable, available := sums{}, sums{}, sums{}
	for _, n := range i.nodes {
		if n.digest == nil {
			continue
		}
		nodes.Total++
		if n.digest.ready {
			nodes.Ready++
		}
		for _, a := range n.digest.capacity {
			capacity[a.name.Value()] = plus(capacity[a.name.Value()], a.value)
		}
		takesPods := n.digest.ready && !n.digest.unschedulable
		for _, a := range n.digest.allocatable {
			name := a.name.Value()
			var has, free int64 // Nothing of a resource is something else than a resource that the cluster does not know.
			if takesPods {
				// What is asked for too much of one node is not taken from the others.
				has, free = a.value, max(0, a.value-n.used(name))
			}
			allocatable[name], available[name] = plus(allocatable[name], has), plus(available[name], free)
		}
	}
	return nodes, &v1alpha1.ClusterResources{
		Capacity: listOf(capacity, only), Allocatable: listOf(allocatable, only), Available: listOf(available, only),
	}, true
}

// listOf returns the wanted resources, of more than a report may have those that sort first.
func listOf(s sums, only []string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for _, name := range slices.SortedFunc(maps.Keys(s), byImportance) {
		if len(list) == maxResources {
			break
		}
		if len(only) == 0 || slices.Contains(only, string(name)) {
			list[name] = quantityOf(name, s[name])
		}
	}
	return list
}

// byImportance sorts the resources that every node has before those that a vendor adds.
func byImportance(a, b corev1.ResourceName) int {
	if x, y := strings.Contains(string(a), "/"), strings.Contains(string(b), "/"); x != y {
		if x {
			return 1
		}
		return -1
	}
	return strings.Compare(string(a), string(b))
}

// shorten leaves the first n resources of each list.
func shorten(resources *v1alpha1.ClusterResources, n int) {
	for _, list := range []corev1.ResourceList{resources.Capacity, resources.Allocatable, resources.Available} {
		for i, name := range slices.SortedFunc(maps.Keys(list), byImportance) {
			if i >= n {
				delete(list, name)
			}
		}
	}
}
