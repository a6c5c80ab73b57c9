package agent

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// requestsOf is what a pod keeps of its node, as the scheduler counts it: the requests of its containers, at least those of the init
// container that needs the most, sidecars for as long as they run, requests of the pod as a whole where it has them, and the overhead of
// its runtime class. While a container is being resized the larger of what is asked for and what it has counts.
//
// Claims of dynamic resource allocation are not counted: they are no requests of the pod.
func requestsOf(pod *corev1.Pod) sums {
	refused := resizeRefused(pod)
	total := sums{}
	if !refused {
		total = containersOf(pod, wanted)
	}
	switch whole := pod.Status.Resources; {
	case whole != nil && whole.Requests != nil && pod.Status.AllocatedResources != nil:
		// The node has added up the containers itself.
		total.raiseTo(pod.Status.AllocatedResources)
		total.raiseTo(whole.Requests)
	case hasOwnResources(pod):
		total.raise(containersOf(pod, granted(refused)))
		total.raise(containersOf(pod, running(refused)))
	}
	for name, amount := range wholeOf(pod, refused) {
		total[name] = amount
	}
	total.add(pod.Spec.Overhead)
	return total
}

// view returns the requests of a container as one side sees them: who wrote the pod, or its node. status may be nil.
type view func(container *corev1.Container, status *corev1.ContainerStatus) corev1.ResourceList

func wanted(container *corev1.Container, _ *corev1.ContainerStatus) corev1.ResourceList {
	return container.Resources.Requests
}

// granted is what the node has set aside. Where it says nothing, that is what is wanted, unless that was refused.
func granted(refused bool) view {
	return func(container *corev1.Container, status *corev1.ContainerStatus) corev1.ResourceList {
		switch {
		case status != nil && status.AllocatedResources != nil:
			return status.AllocatedResources
		case refused:
			return nil
		}
		return container.Resources.Requests
	}
}

// running is what the container runs with.
func running(refused bool) view {
	return func(container *corev1.Container, status *corev1.ContainerStatus) corev1.ResourceList {
		if status != nil && status.Resources != nil && status.Resources.Requests != nil {
			return status.Resources.Requests
		}
		return granted(refused)(container, status)
	}
}

// containersOf is what the containers of a pod keep at the moment when they keep the most.
func containersOf(pod *corev1.Pod, requests view) sums {
	total := sums{}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		total.add(requests(c, statusOf(pod.Status.ContainerStatuses, c.Name)))
	}
	if len(pod.Spec.InitContainers) == 0 {
		return total
	}
	// Init containers run one after the other, each beside the sidecars that began before it. A sidecar stays.
	starting, sidecars := sums{}, sums{}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		asked := requests(c, statusOf(pod.Status.InitContainerStatuses, c.Name))
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			sidecars.add(asked)
			total.add(asked)
			continue
		}
		step := sums{}
		step.raise(sidecars)
		step.add(asked)
		starting.raise(step)
	}
	total.raise(starting)
	return total
}

func statusOf(statuses []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
	for i := range statuses {
		if statuses[i].Name == name {
			return &statuses[i]
		}
	}
	return nil
}

// hasOwnResources says whether the node says anything of the resources of a container. Otherwise all views are the same.
func hasOwnResources(pod *corev1.Pod) bool {
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range statuses {
			if statuses[i].AllocatedResources != nil || statuses[i].Resources != nil {
				return true
			}
		}
	}
	return resizeRefused(pod)
}

// wholeOf are the requests of the pod as a whole, which count instead of those of its containers.
func wholeOf(pod *corev1.Pod, refused bool) sums {
	if pod.Spec.Resources == nil {
		return nil
	}
	whole := sums{}
	whole.raiseTo(pod.Spec.Resources.Requests)
	maps.DeleteFunc(whole, notOfPods)
	if len(whole) == 0 || pod.Status.Resources == nil {
		return whole
	}
	if refused {
		clear(whole)
	}
	whole.raiseTo(pod.Status.Resources.Requests)
	whole.raiseTo(pod.Status.AllocatedResources)
	maps.DeleteFunc(whole, notOfPods)
	return whole
}

// notOfPods says which resources only containers can ask for.
func notOfPods(name corev1.ResourceName, _ int64) bool {
	return name != corev1.ResourceCPU && name != corev1.ResourceMemory && !strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// resizeRefused says whether the node cannot give what is asked for, ever.
func resizeRefused(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodResizePending {
			return condition.Reason == corev1.PodReasonInfeasible
		}
	}
	return false
}
