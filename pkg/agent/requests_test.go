package agent

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// list makes a ResourceList of pairs of name and quantity.
func list(pairs ...string) corev1.ResourceList {
	l := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		l[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return l
}

func container(name string, pairs ...string) corev1.Container {
	return corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Requests: list(pairs...)}}
}

func sidecar(name string, pairs ...string) corev1.Container {
	c, always := container(name, pairs...), corev1.ContainerRestartPolicyAlways
	c.RestartPolicy = &always
	return c
}

func TestRequests(t *testing.T) {
	resources := func(pairs ...string) *corev1.ResourceRequirements {
		return &corev1.ResourceRequirements{Requests: list(pairs...)}
	}
	refused := []corev1.PodCondition{{Type: corev1.PodResizePending, Reason: corev1.PodReasonInfeasible}}
	deferred := []corev1.PodCondition{{Type: corev1.PodResizePending, Reason: corev1.PodReasonDeferred}}
	tests := []struct {
		name   string
		spec   corev1.PodSpec
		status corev1.PodStatus
		want   sums
	}{
		{"no requests", corev1.PodSpec{Containers: []corev1.Container{container("a")}}, corev1.PodStatus{}, sums{}},
		{"containers add up", corev1.PodSpec{Containers: []corev1.Container{container("a", "cpu", "250m", "memory", "1Ki"), container("b", "cpu", "1", "nvidia.com/gpu", "2")}},
			corev1.PodStatus{}, sums{"cpu": 1250, "memory": 1024, "nvidia.com/gpu": 2}},
		{"limits are no requests", corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: list("cpu", "9")}}}}, corev1.PodStatus{}, sums{}},
		{"largest init container counts", corev1.PodSpec{
			InitContainers: []corev1.Container{container("i", "cpu", "3"), container("j", "cpu", "2", "memory", "5")},
			Containers:     []corev1.Container{container("a", "cpu", "1", "memory", "7")},
		}, corev1.PodStatus{}, sums{"cpu": 3000, "memory": 7}},
		{"sidecars stay beside the containers", corev1.PodSpec{
			InitContainers: []corev1.Container{sidecar("s", "cpu", "1")}, Containers: []corev1.Container{container("a", "cpu", "2")},
		}, corev1.PodStatus{}, sums{"cpu": 3000}},
		{"and beside the init containers after them", corev1.PodSpec{
			InitContainers: []corev1.Container{container("i", "cpu", "5"), sidecar("s", "cpu", "2"), container("j", "cpu", "4")},
			Containers:     []corev1.Container{container("a", "cpu", "1")},
		}, corev1.PodStatus{}, sums{"cpu": 6000}},
		{"overhead comes on top", corev1.PodSpec{
			InitContainers: []corev1.Container{container("i", "cpu", "4")}, Containers: []corev1.Container{container("a", "cpu", "1")}, Overhead: list("cpu", "100m", "memory", "10"),
		}, corev1.PodStatus{}, sums{"cpu": 4100, "memory": 10}},
		{"requests of the pod count instead, for what pods can ask for", corev1.PodSpec{
			Containers: []corev1.Container{container("a", "cpu", "1", "memory", "5", "nvidia.com/gpu", "1")},
			Resources:  resources("cpu", "3", "hugepages-2Mi", "2Mi", "nvidia.com/gpu", "9"),
		}, corev1.PodStatus{}, sums{"cpu": 3000, "memory": 5, "nvidia.com/gpu": 1, "hugepages-2Mi": 2 << 20}},
		{"a pod that shrinks keeps what it has", corev1.PodSpec{Containers: []corev1.Container{container("a", "cpu", "1")}},
			corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "a", AllocatedResources: list("cpu", "1"), Resources: resources("cpu", "2")}}}, sums{"cpu": 2000}},
		{"a pod that waits to grow has what it asks for", corev1.PodSpec{Containers: []corev1.Container{container("a", "cpu", "3")}},
			corev1.PodStatus{Conditions: deferred, ContainerStatuses: []corev1.ContainerStatus{{Name: "a", AllocatedResources: list("cpu", "1")}}}, sums{"cpu": 3000}},
		{"one that cannot grow has not", corev1.PodSpec{Containers: []corev1.Container{container("a", "cpu", "30")}},
			corev1.PodStatus{Conditions: refused, ContainerStatuses: []corev1.ContainerStatus{{Name: "a", AllocatedResources: list("cpu", "1")}}}, sums{"cpu": 1000}},
		{"the same for the pod as a whole", corev1.PodSpec{Containers: []corev1.Container{container("a")}, Resources: resources("cpu", "1")},
			corev1.PodStatus{Resources: resources("cpu", "2"), AllocatedResources: list("cpu", "1")}, sums{"cpu": 2000}},
		{"refused for the pod as a whole", corev1.PodSpec{Containers: []corev1.Container{container("a")}, Resources: resources("cpu", "50")},
			corev1.PodStatus{Conditions: refused, Resources: resources("cpu", "2"), AllocatedResources: list("cpu", "1")}, sums{"cpu": 2000}},
		{"fractions count as whole", corev1.PodSpec{Containers: []corev1.Container{container("a", "memory", "100m")}}, corev1.PodStatus{}, sums{"memory": 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: test.spec, Status: test.status}
			if diff := cmp.Diff(test.want, requestsOf(pod)); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			pod.Spec.NodeName = "n"
			small := shrunk(pod)
			if diff := cmp.Diff(test.want, requestsOf(&small)); diff != "" {
				t.Errorf("of the shrunk pod (-want +got):\n%s", diff)
			}
		})
	}
}
