package agent

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

func list(pairs ...string) corev1.ResourceList {
	l := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		l[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return l
}

// words are the quantities of a list as they are written.
func words(list corev1.ResourceList) map[string]string {
	all := map[string]string{}
	for name, quantity := range list {
		all[string(name)] = quantity.String()
	}
	return all
}

// makeNode makes a node as its kubelet would, which is deleted after the test.
func makeNode(t *testing.T, name string, cordoned bool, ready corev1.ConditionStatus, capacity, allocatable corev1.ResourceList) {
	t.Helper()
	nodes := admin().CoreV1().Nodes()
	node, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Unschedulable: cordoned}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nodes.Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{}) })
	node.Status = corev1.NodeStatus{
		Capacity: capacity, Allocatable: allocatable, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}}
	if _, err := nodes.UpdateStatus(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// makePod makes a pod as a scheduler and a kubelet would, which is deleted after the test.
func makePod(t *testing.T, name, node string, phase corev1.PodPhase, spec corev1.PodSpec) {
	t.Helper()
	pods := admin().CoreV1().Pods("default")
	spec.NodeName, spec.AutomountServiceAccountToken = node, new(bool)
	within(t, "the pod "+name, func() bool {
		_, err := pods.Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
		// Controllers make the default account a little later than the namespace.
		if err != nil && !(apierrors.IsForbidden(err) && strings.Contains(err.Error(), "serviceaccount")) {
			t.Fatal(err)
		}
		return err == nil
	}, func() any { return nil })
	t.Cleanup(func() { deletePod(t, name) })
	setPhase(t, name, phase)
}

func deletePod(t *testing.T, name string) {
	t.Helper()
	now := int64(0)
	err := admin().CoreV1().Pods("default").Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{GracePeriodSeconds: &now})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}

func setPhase(t *testing.T, name string, phase corev1.PodPhase) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"status":{"phase":%q}}`, phase)
	if _, err := admin().CoreV1().Pods("default").Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
}

func asks(pairs ...string) corev1.PodSpec {
	requests := list(pairs...)
	limits := corev1.ResourceList{}
	for name, quantity := range requests {
		if strings.Contains(string(name), "/") { // of these, both have to be the same
			limits[name] = quantity
		}
	}
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "none", Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits}}}}
}

// fleet is what the member of a test has.
func fleet(t *testing.T) {
	t.Helper()
	gpu := func(cpu, memory string) corev1.ResourceList {
		return list("cpu", cpu, "memory", memory, "pods", "110", "nvidia.com/gpu", "8")
	}
	makeNode(t, "gpu", false, corev1.ConditionTrue, gpu("64", "512Gi"), gpu("63500m", "500Gi"))
	makeNode(t, "cordoned", true, corev1.ConditionTrue, gpu("64", "512Gi"), gpu("63500m", "500Gi"))
	makeNode(t, "lost", false, corev1.ConditionUnknown, list("cpu", "4"), list("cpu", "4"))
	makePod(t, "training", "gpu", corev1.PodRunning, asks("cpu", "3500m", "memory", "100Gi", "nvidia.com/gpu", "2"))
	makePod(t, "on-cordoned", "cordoned", corev1.PodRunning, asks("cpu", "1"))
	makePod(t, "done", "gpu", corev1.PodSucceeded, asks("cpu", "1", "nvidia.com/gpu", "1"))
	makePod(t, "waiting", "", corev1.PodPending, asks("cpu", "1", "nvidia.com/gpu", "8"))
}

// gpusLeft says whether a report has so many of them available.
func gpusLeft(want string) func(v1alpha1.ClusterReportSpec) bool {
	return func(spec v1alpha1.ClusterReportSpec) bool {
		return spec.Resources != nil && words(spec.Resources.Available)["nvidia.com/gpu"] == want
	}
}

func hasProperties(want ...v1alpha1.ReportedProperty) func(v1alpha1.ClusterReportSpec) bool {
	return func(spec v1alpha1.ClusterReportSpec) bool { return cmp.Equal(spec.Properties, want) }
}

func TestFacts(t *testing.T) {
	fleet(t)
	s := newStandIn(t, nil)
	p := startAgent(t, s)
	t.Cleanup(func() {
		if strings.Contains(p.log.String(), "forbidden") {
			t.Errorf("a right is missing:\n%s", p.log)
		}
	})
	got := s.awaitReport(t, "the first report", func(v1alpha1.ClusterReportSpec) bool { return true })
	version, err := admin().Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if got.KubernetesVersion != version.GitVersion || got.Time == nil || got.IntervalSeconds != nil || got.ClusterProfileUID != nil {
		t.Errorf("version %s, time %v, interval %v, uid %v", got.KubernetesVersion, got.Time, got.IntervalSeconds, got.ClusterProfileUID)
	}
	if diff := cmp.Diff(&v1alpha1.NodeCounts{Total: 3, Ready: 2}, got.Nodes); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	type m = map[string]string
	if diff := cmp.Diff([]m{
		{"cpu": "132", "memory": "1Ti", "pods": "220", "nvidia.com/gpu": "16"},
		{"cpu": "63500m", "memory": "500Gi", "pods": "110", "nvidia.com/gpu": "8"},
		{"cpu": "60", "memory": "400Gi", "pods": "109", "nvidia.com/gpu": "6"},
	}, []m{words(got.Resources.Capacity), words(got.Resources.Allocatable), words(got.Resources.Available)}); diff != "" {
		t.Errorf("capacity, allocatable and available (-want +got):\n%s", diff)
	}
	healthy := []v1alpha1.ReportedCondition{{Type: "ControlPlaneHealthy", Status: "True", Reason: "APIServerReady"}}
	if diff := cmp.Diff(healthy, got.Conditions); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	t.Run("what changes", func(t *testing.T) {
		makePod(t, "second", "gpu", corev1.PodRunning, asks("nvidia.com/gpu", "3"))
		s.awaitReport(t, "a pod more", gpusLeft("3"))
		setPhase(t, "second", corev1.PodFailed)
		s.awaitReport(t, "one that ended", gpusLeft("6"))
		deletePod(t, "training")
		s.awaitReport(t, "one that is gone", gpusLeft("8"))
		kubectl(t, "cordon", "gpu")
		s.awaitReport(t, "no node that takes pods", gpusLeft("0"))
		kubectl(t, "uncordon", "cordoned")
		s.awaitReport(t, "another one", gpusLeft("8"))
	})
	t.Run("properties come and go", func(t *testing.T) {
		kubectl(t, "apply", "-f", "testdata/clusterproperties.yaml")
		t.Cleanup(func() { kubectl(t, "delete", "--ignore-not-found", "-f", "testdata/clusterproperties.yaml") })
		kubectl(t, "wait", "--for=condition=Established", "--timeout=60s", "-f", "testdata/clusterproperties.yaml")
		applyProperty(t, "cluster.clusterset.k8s.io", "c1")
		applyProperty(t, "region.example.com", "eu-1")
		region := v1alpha1.ReportedProperty{Name: "region.example.com", Value: "eu-1"}
		s.awaitReport(t, "both", hasProperties(v1alpha1.ReportedProperty{Name: "cluster.clusterset.k8s.io", Value: "c1"}, region))
		applyProperty(t, "cluster.clusterset.k8s.io", "c2")
		s.awaitReport(t, "another value", hasProperties(v1alpha1.ReportedProperty{Name: "cluster.clusterset.k8s.io", Value: "c2"}, region))
		kubectl(t, "delete", "clusterproperty", "cluster.clusterset.k8s.io")
		s.awaitReport(t, "one", hasProperties(region))
		kubectl(t, "delete", "-f", "testdata/clusterproperties.yaml")
		s.awaitReport(t, "none", hasProperties())
	})
}

func applyProperty(t *testing.T, name, value string) {
	t.Helper()
	k, err := member.KubectlFor("admin", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	k.Stdin = strings.NewReader(fmt.Sprintf(`{"apiVersion":"about.k8s.io/v1beta1","kind":"ClusterProperty","metadata":{"name":%q},"spec":{"value":%q}}`, name, value))
	if _, _, err := k.Run(t.Context(), "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
}

// TestFlags wants what is asked for on the command line in the reports.
func TestFlags(t *testing.T) {
	fleet(t)
	s := newStandIn(t, nil)
	startAgent(t, s, "--interval=7s", "--cluster-profile-uid=8d1b", "--resources=nvidia.com/gpu,cpu")
	got := s.awaitReport(t, "the first report", func(v1alpha1.ClusterReportSpec) bool { return true })
	if *got.IntervalSeconds != 7 || *got.ClusterProfileUID != "8d1b" {
		t.Errorf("interval %d, uid %s", *got.IntervalSeconds, *got.ClusterProfileUID)
	}
	if diff := cmp.Diff(map[string]string{"cpu": "60", "nvidia.com/gpu": "6"}, words(got.Resources.Available)); diff != "" {
		t.Errorf("available (-want +got):\n%s", diff)
	}
}

// TestRights wants the agent to be refused everything else in its cluster.
func TestRights(t *testing.T) {
	config, err := member.ServiceAccountConfig(t.Context(), namespace, account)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"/api/v1/nodes": 200, "/api/v1/pods": 200, "/readyz": 200, "/version": 200,
		"/api/v1/nodes/gpu": 403, "/api/v1/secrets": 403, "/api/v1/configmaps": 403, "/api/v1/namespaces": 403, "/metrics": 403, "/apis/apps/v1/deployments": 403,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := answerTo(t, config, request); got != want {
			t.Errorf("GET %s is answered %d, want %d", path, got, want)
		}
	}
}
