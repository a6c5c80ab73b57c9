package agent

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// nodeDigest is what is kept of a Node. Its metadata is the name only, by which client-go tells objects apart.
type nodeDigest struct {
	metav1.ObjectMeta
	ready, unschedulable  bool
	capacity, allocatable amounts
}

// podDigest is what is kept of a Pod that takes room on a node.
type podDigest struct {
	metav1.ObjectMeta
	node     string
	requests amounts
}

func digestNode(node *corev1.Node) *nodeDigest {
	d := &nodeDigest{
		ObjectMeta:    metav1.ObjectMeta{Name: node.Name},
		unschedulable: node.Spec.Unschedulable,
		capacity:      amountsOf(node.Status.Capacity),
		allocatable:   amountsOf(node.Status.Allocatable),
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			d.ready = condition.Status == corev1.ConditionTrue
		}
	}
	return d
}

// digestPod names no node for a pod that takes no room: one that waits for a node, or one that has ended.
func digestPod(pod *corev1.Pod) *podDigest {
	d := &podDigest{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || pod.Spec.NodeName == "" {
		return d
	}
	d.node, d.requests = pod.Spec.NodeName, requestsOf(pod).kept()
	return d
}

// shrunk is a pod with the same digest and nothing else. All that it asks for is in one place, whichever.
func shrunk(p *corev1.Pod) corev1.Pod {
	d := digestPod(p)
	small := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, ResourceVersion: p.ResourceVersion}}
	small.Spec.NodeName = d.node
	if len(d.requests) > 0 {
		small.Spec.Overhead = make(corev1.ResourceList, len(d.requests))
		for _, a := range d.requests {
			small.Spec.Overhead[a.name.Value()] = quantityOf(a.name.Value(), a.value)
		}
	}
	return small
}

// digest makes the digest of whatever a reflector hands over: an object, what a watch missed the end of, or a digest already.
func digest(object any) (any, error) {
	switch o := object.(type) {
	case *corev1.Node:
		return digestNode(o), nil
	case *corev1.Pod:
		return digestPod(o), nil
	case *nodeDigest, *podDigest:
		return o, nil
	case cache.DeletedFinalStateUnknown:
		return digest(o.Obj)
	}
	return nil, fmt.Errorf("no node and no pod: %T", object)
}
