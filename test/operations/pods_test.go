package operations

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// TestPodsAreAdmitted makes a pod of each workload's template, in a namespace that enforces the strictest pod security, and one that
// asks for more than that level allows, which has to be refused.
func TestPodsAreAdmitted(t *testing.T) {
	namespace := newNamespace(t, map[string]string{"pod-security.kubernetes.io/enforce": "restricted"})
	accounts := client().CoreV1().ServiceAccounts(namespace)
	if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: framework.ServiceAccount}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, overlay := range workloads {
		w := workloadOf(t, overlay)
		usePriorityClass(t, w)
		tests := map[string]struct {
			change func(*corev1.PodSpec)
			want   string
		}{
			"as shipped":             {change: func(*corev1.PodSpec) {}},
			"as root":                {func(s *corev1.PodSpec) { s.SecurityContext.RunAsUser = new(int64) }, "runAsUser=0"},
			"with more capabilities": {func(s *corev1.PodSpec) { s.Containers[0].SecurityContext.Capabilities = nil }, "unrestricted capabilities"},
		}
		for name, test := range tests {
			t.Run(overlay+" "+name, func(t *testing.T) {
				pod := podOf(w, namespace)
				test.change(&pod.Spec)
				created, err := client().CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				if test.want != "" {
					if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), test.want) {
						t.Errorf("answered %v, want a refusal for %s", err, test.want)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if *created.Spec.Priority != 1_000_000_000 {
					t.Errorf("priority %d", *created.Spec.Priority)
				}
			})
		}
	}
}

func restorePod(t *testing.T) *corev1.Pod {
	t.Helper()
	pods := ofKind[corev1.Pod](t, rendered(t, "restore"), "Pod")
	if len(pods) != 1 {
		t.Fatal(pods)
	}
	return &pods[0]
}

// TestRestorePod wants the pod that restores to be admitted where the server is, and to have the server's image, user and volume.
func TestRestorePod(t *testing.T) {
	pod, w := restorePod(t), workloadOf(t, "embedded-etcd")
	c, server := pod.Spec.Containers[0], podOf(w, "")
	if c.Image != w.container().Image || !cmp.Equal(c.VolumeMounts, w.container().VolumeMounts) {
		t.Errorf("image %s, volume %v", c.Image, c.VolumeMounts)
	}
	if diff := cmp.Diff(server.Spec.SecurityContext, pod.Spec.SecurityContext); diff != "" {
		t.Errorf("the user (-server +restore):\n%s", diff)
	}
	if diff := cmp.Diff(server.Spec.Volumes, pod.Spec.Volumes); diff != "" {
		t.Errorf("the volume (-server +restore):\n%s", diff)
	}
	for _, service := range ofKind[corev1.Service](t, rendered(t, "registration"), "Service") {
		if labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels)) {
			t.Error("the Service sends requests to it")
		}
	}
	namespace := newNamespace(t, map[string]string{"pod-security.kubernetes.io/enforce": "restricted"})
	// Admission puts the default account into the pod, which the hub's controllers make.
	within(t, requestTimeout, "the default account", func() bool { return exists(t, "serviceaccount", "default", "-n", namespace) })
	pod.Namespace = namespace
	if _, err := client().CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Error(err)
	}
}

// podOf does what the workload's controller does.
func podOf(w workload, namespace string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: *w.template.ObjectMeta.DeepCopy(), Spec: *w.template.Spec.DeepCopy()}
	pod.Namespace, pod.GenerateName = namespace, "binnacle-apiserver-"
	for _, claim := range w.claims {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: claim, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim + "-binnacle-apiserver-0"}}})
	}
	return pod
}

func usePriorityClass(t *testing.T, w workload) {
	t.Helper()
	for _, class := range ofKind[schedulingv1.PriorityClass](t, w.objects, "PriorityClass") {
		if class.Name != w.template.Spec.PriorityClassName {
			t.Errorf("the pods name the priority class %s", w.template.Spec.PriorityClassName)
		}
		_, err := client().SchedulingV1().PriorityClasses().Create(t.Context(), &class, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = client().SchedulingV1().PriorityClasses().Delete(context.WithoutCancel(t.Context()), class.Name, metav1.DeleteOptions{})
		})
	}
}

// TestPodSpec holds what nothing else would notice the absence of.
func TestPodSpec(t *testing.T) {
	for _, overlay := range workloads {
		w := workloadOf(t, overlay)
		c, spec := w.container(), w.template.Spec
		if !*c.SecurityContext.ReadOnlyRootFilesystem {
			t.Errorf("%s: the root file system can be written", overlay)
		}
		if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() {
			t.Errorf("%s: resources %v", overlay, c.Resources)
		}
		if spec.ServiceAccountName != framework.ServiceAccount {
			t.Errorf("%s: runs as %s", overlay, spec.ServiceAccountName)
		}
		replicated := strings.HasPrefix(overlay, "external")
		if replicated != (w.replicas == 2) || !replicated && w.replicas != 1 {
			t.Errorf("%s: %d replicas", overlay, w.replicas)
		}
		if budgets := len(ofKind[policyv1.PodDisruptionBudget](t, w.objects, "PodDisruptionBudget")); (budgets == 1) != replicated {
			t.Errorf("%s: %d disruption budgets", overlay, budgets)
		}
		if replicated != (len(spec.TopologySpreadConstraints) == 2) {
			t.Errorf("%s: spread over %v", overlay, spec.TopologySpreadConstraints)
		}
	}
}

// TestMemoryLimit wants the collector to have its limit before the kernel's: what it does not count, such as stacks and mapped files that
// were just read, needs a tenth of the memory or so, and more would be wasted.
func TestMemoryLimit(t *testing.T) {
	for _, overlay := range workloads {
		c := workloadOf(t, overlay).container()
		limit := float64(c.Resources.Limits.Memory().Value())
		i := slices.IndexFunc(c.Env, func(env corev1.EnvVar) bool { return env.Name == "GOMEMLIMIT" })
		if i < 0 {
			t.Errorf("%s: no GOMEMLIMIT", overlay)
			continue
		}
		// Go writes a B after what Kubernetes writes.
		soft, err := resource.ParseQuantity(strings.TrimSuffix(c.Env[i].Value, "B"))
		if err != nil || !strings.HasSuffix(c.Env[i].Value, "iB") || soft.AsApproximateFloat64() < 0.8*limit || soft.AsApproximateFloat64() > 0.9*limit {
			t.Errorf("%s: GOMEMLIMIT=%s with a limit of %s (%v)", overlay, c.Env[i].Value, c.Resources.Limits.Memory(), err)
		}
	}
}

// TestDrains wants the workloads to have what a rolling restart without a failed write needs, and not what would undo it; that it works is
// tested in test/integration.
func TestDrains(t *testing.T) {
	for _, overlay := range workloads {
		w := workloadOf(t, overlay)
		args := w.container().Args
		if !slices.Contains(args, "--disable-http2-serving") || slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--shutdown-send-retry-after") }) {
			t.Errorf("%s: %v", overlay, args)
		}
		if delayed := slices.Contains(args, "--shutdown-delay-duration=15s"); delayed != (w.replicas > 1) {
			t.Errorf("%s: %d replicas, with a delay: %v", overlay, w.replicas, delayed)
		}
	}
}

// TestSelectors wants what selects pods to select ours, and ports to be the container's.
func TestSelectors(t *testing.T) {
	for _, overlay := range workloads {
		w := workloadOf(t, overlay)
		podLabels, port := labels.Set(w.template.Labels), w.container().Ports[0]
		selects := func(what string, selector *metav1.LabelSelector) {
			s, err := metav1.LabelSelectorAsSelector(selector)
			if err != nil || !s.Matches(podLabels) {
				t.Errorf("%s: %s does not select the pods (%v)", overlay, what, err)
			}
		}
		for _, budget := range ofKind[policyv1.PodDisruptionBudget](t, w.objects, "PodDisruptionBudget") {
			selects("the disruption budget", budget.Spec.Selector)
		}
		for _, spread := range w.template.Spec.TopologySpreadConstraints {
			selects("the spread over "+spread.TopologyKey, spread.LabelSelector)
		}
		policies := ofKind[networkingv1.NetworkPolicy](t, w.objects, "NetworkPolicy")
		for _, policy := range policies {
			selects("the network policy "+policy.Name, &policy.Spec.PodSelector)
		}
		in, out := allowed(policies, intstr.FromString(port.Name))
		if want := []int{53, 443, 6443, 8443, 9443, 10250}; strings.HasPrefix(overlay, "external") {
			want = append(want, 2379)
			slices.Sort(want)
			if !in || !slices.Equal(out, want) {
				t.Errorf("%s: in %v, out %v", overlay, in, out)
			}
		} else if !in || !slices.Equal(out, want) {
			t.Errorf("%s: in %v, out %v", overlay, in, out)
		}
		for _, registration := range registrations {
			for _, service := range ofKind[corev1.Service](t, rendered(t, registration), "Service") {
				selects("the service", &metav1.LabelSelector{MatchLabels: service.Spec.Selector})
				if target := service.Spec.Ports[0].TargetPort; target.String() != port.Name {
					t.Errorf("the service leads to port %s", target.String())
				}
			}
		}
	}
}

// allowed returns whether the port may be reached from anywhere, and the ports that may be reached from the pods.
func allowed(policies []networkingv1.NetworkPolicy, port intstr.IntOrString) (in bool, out []int) {
	for _, policy := range policies {
		for _, rule := range policy.Spec.Ingress {
			in = in || len(rule.From) == 0 && len(rule.Ports) == 1 && *rule.Ports[0].Port == port
		}
		for _, rule := range policy.Spec.Egress {
			for _, p := range rule.Ports {
				out = append(out, p.Port.IntValue())
			}
		}
	}
	slices.Sort(out)
	return in, slices.Compact(out)
}
