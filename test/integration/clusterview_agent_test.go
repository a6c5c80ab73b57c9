package integration

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/test/framework"
)

// TestAgentThroughHub runs the agent between a member and the hub, with the rights that artifacts give it on both: what is free on the member
// is shown on the hub, and so is that its API server is away, and that the agent is.
func TestAgentThroughHub(t *testing.T) {
	t.Parallel() // It mostly waits.
	own := startOwnHub(t, framework.HubOptions{}, 1, "--cluster-report-publish-interval=200ms", "--cluster-grace-period=10s", "--cluster-report-interval=2s")
	member, err := framework.StartHub(t.Context(), framework.HubOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = member.Stop() })
	own.namespace(t, "fleet")
	c := crowd{config: own.AdminConfig(), namespace: "fleet"}
	if _, err := profilesOf(t, c.config, c.namespace).Create(t.Context(), newProfile("my-cluster"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	agent := startHubAgent(t, own.Hub, member)
	on := kubernetes.NewForConfigOrDie(member.AdminConfig())
	addGPUNode(t, on)
	addGPUPod(t, on, "first", "3")

	// What kubectl prints is what people look at.
	columns := func() string {
		out, _, err := own.Kubectl(context.WithoutCancel(t.Context()), "get", "clusterstatuses", "-n", "fleet", "my-cluster", "--no-headers")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(out), " ")
	}
	shown := ""
	shows := func(what string, parts ...string) {
		t.Helper()
		begin := time.Now()
		within(t, viewPatience, what, func() bool {
			shown = columns()
			for _, part := range parts {
				if !strings.Contains(shown, part) {
					return false
				}
			}
			return true
		})
		t.Logf("after %s: %s", time.Since(begin).Round(100*time.Millisecond), shown)
	}
	shows("what is free", " Ready ", "1/1", "5/8")
	addGPUPod(t, on, "second", "4")
	shows("what is free after a pod more", " Ready ", "1/8")

	v := startViewer(t, statusesOf(t, c.config, c.namespace))
	if err := member.APIServer.Kill(); err != nil {
		t.Fatal(err)
	}
	shows("that the API server is away", "NotReady", "1/8")
	for _, s := range v.known() {
		healthy := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionControlPlaneHealthy)
		if healthy == nil || healthy.Status != metav1.ConditionFalse {
			t.Errorf("ControlPlaneHealthy is %v", healthy)
		}
		if !meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionReachable) {
			t.Error("a cluster whose agent reports is not Reachable")
		}
	}
	if err := agent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	shows("that the agent is away", "Unreachable", "1/8")
	v.await(t, "my-cluster", "Unreachable", 0, inPhase(v1alpha1.ClusterUnreachable))
	for _, phase := range v.phases("my-cluster") {
		if phase != v1alpha1.ClusterReady && phase != v1alpha1.ClusterNotReady && phase != v1alpha1.ClusterUnreachable {
			t.Errorf("it was %s", phase)
		}
	}
}

// startHubAgent installs the agent on the member and its account on the hub, and starts it.
func startHubAgent(t *testing.T, onHub, member *framework.Hub) *exec.Cmd {
	t.Helper()
	root, err := framework.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := func(h *framework.Hub, artifacts, namespace, account string) string {
		if _, _, err := h.Kubectl(t.Context(), "apply", "--server-side", "-k", filepath.Join(root, artifacts)); err != nil {
			t.Fatal(err)
		}
		config, err := h.ServiceAccountConfig(t.Context(), namespace, account)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "kubeconfig")
		if err := framework.WriteKubeconfig(path, config); err != nil {
			t.Fatal(err)
		}
		return path
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "agent.log"))
	if err != nil {
		t.Fatal(err)
	}
	agent := exec.Command(filepath.Join(root, "bin", "binnacle-agent"),
		"--kubeconfig="+kubeconfig(member, "artifacts/agent", "binnacle-agent", "binnacle-agent"),
		"--hub-kubeconfig="+kubeconfig(onHub, "artifacts/agent/hub", "fleet", "binnacle-agent.my-cluster"),
		"--cluster-namespace=fleet", "--cluster-name=my-cluster", "--health-bind-address=")
	agent.Stdout, agent.Stderr = log, log
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = agent.Process.Kill()
		_ = agent.Wait()
		_ = log.Close()
		if text, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("the agent's log:\n%s", text[max(0, len(text)-4000):])
		}
	})
	return agent
}

// addGPUNode makes a node with eight GPUs as its kubelet would.
func addGPUNode(t *testing.T, on kubernetes.Interface) {
	t.Helper()
	node, err := on.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	amounts := corev1.ResourceList{"cpu": resource.MustParse("64"), "memory": resource.MustParse("512Gi"), "pods": resource.MustParse("110"), "nvidia.com/gpu": resource.MustParse("8")}
	node.Status = corev1.NodeStatus{Capacity: amounts, Allocatable: amounts, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}
	if _, err := on.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// addGPUPod makes a running pod that has some of them.
func addGPUPod(t *testing.T, on kubernetes.Interface, name, gpus string) {
	t.Helper()
	amounts := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(gpus)}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
		NodeName: "gpu", AutomountServiceAccountToken: new(bool),
		Containers: []corev1.Container{{Name: "a", Image: "none", Resources: corev1.ResourceRequirements{Requests: amounts, Limits: amounts}}},
	}}
	var created *corev1.Pod
	within(t, viewPatience, "the pod "+name, func() (made bool) {
		// Controllers make the default account a little later than the namespace.
		answer, err := on.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
		created = answer
		return err == nil
	})
	created.Status.Phase = corev1.PodRunning
	if _, err := on.CoreV1().Pods("default").UpdateStatus(t.Context(), created, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
