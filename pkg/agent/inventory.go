package agent

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// inventory is the nodes of the cluster with what their pods have asked for. The sums of a node change with each of its pods, so that a
// report costs a walk over the nodes, however many pods there are.
type inventory struct {
	mu    sync.Mutex
	nodes map[string]*node
	pods  map[string]pod
	// Before both are listed nothing is known: half an inventory would report a cluster without nodes or without pods.
	nodesListed, podsListed bool
}

// node is a node, or what pods have of one that is not known yet, or any more.
type node struct {
	name      string
	digest    *nodeDigest
	pods      int64
	requested sums
}

type pod struct {
	node     *node
	requests amounts
}

func newInventory() *inventory {
	return &inventory{nodes: map[string]*node{}, pods: map[string]pod{}}
}

func (i *inventory) setNode(d *nodeDigest) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.node(d.Name).digest = d
}

func (i *inventory) deleteNode(name string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if n := i.nodes[name]; n != nil {
		n.digest = nil
		i.forgetEmpty(n)
	}
}

// replaceNodes makes a whole list the nodes that there are.
func (i *inventory) replaceNodes(list []*nodeDigest) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, n := range i.nodes {
		n.digest = nil
	}
	for _, d := range list {
		i.node(d.Name).digest = d
	}
	for _, n := range i.nodes {
		i.forgetEmpty(n)
	}
	i.nodesListed = true
}

func (i *inventory) setPod(d *podDigest) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.deletePodLocked(keyOf(d))
	i.addPodLocked(d)
}

func (i *inventory) deletePod(d *podDigest) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.deletePodLocked(keyOf(d))
}

// replacePods makes a whole list the pods that there are.
func (i *inventory) replacePods(list []*podDigest) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, n := range i.nodes {
		n.pods = 0
		clear(n.requested)
	}
	i.pods = make(map[string]pod, len(list))
	for _, d := range list {
		i.addPodLocked(d)
	}
	for _, n := range i.nodes {
		i.forgetEmpty(n)
	}
	i.podsListed = true
}

func (i *inventory) addPodLocked(d *podDigest) {
	if d.node == "" {
		return
	}
	n := i.node(d.node)
	i.pods[keyOf(d)] = pod{n, d.requests}
	n.pods++
	for _, a := range d.requests {
		// Plain sums, which take back exactly what was added, even past the end of the numbers.
		n.requested[a.name.Value()] += a.value
	}
}

func (i *inventory) deletePodLocked(key string) {
	p, ok := i.pods[key]
	if !ok {
		return
	}
	delete(i.pods, key)
	p.node.pods--
	for _, a := range p.requests {
		name := a.name.Value()
		if p.node.requested[name] -= a.value; p.node.requested[name] == 0 {
			delete(p.node.requested, name)
		}
	}
	i.forgetEmpty(p.node)
}

func (i *inventory) node(name string) *node {
	n := i.nodes[name]
	if n == nil {
		n = &node{name: name, requested: sums{}}
		i.nodes[name] = n
	}
	return n
}

func (i *inventory) forgetEmpty(n *node) {
	if n.digest == nil && n.pods == 0 {
		delete(i.nodes, n.name)
	}
}

// listed says whether both nodes and pods are known.
func (i *inventory) listed() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.nodesListed && i.podsListed
}

func keyOf(d *podDigest) string { return d.Namespace + "/" + d.Name }

// used is how much of a resource the pods of a node have.
func (n *node) used(name corev1.ResourceName) int64 {
	if name == corev1.ResourcePods {
		return n.pods
	}
	return n.requested[name]
}
