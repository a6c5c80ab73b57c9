package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/binnacle-dev/binnacle/test/framework"
)

func artifacts(t *testing.T, elements ...string) string {
	t.Helper()
	root, err := framework.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(append([]string{root, "artifacts", "agent"}, elements...)...)
}

// rendered returns the objects that kubectl makes of a folder.
func rendered(t *testing.T, dir string) []*unstructured.Unstructured {
	t.Helper()
	out, _ := kubectl(t, "kustomize", dir)
	objects, err := framework.SplitManifests([]byte(out))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// ofKind returns the objects of a kind. A field that the kind does not have is an error.
func ofKind[T any](t *testing.T, objects []*unstructured.Unstructured, kind string) []T {
	t.Helper()
	var all []T
	for _, object := range objects {
		if object.GetKind() != kind {
			continue
		}
		var one T
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &one, true); err != nil {
			t.Fatalf("%s %s: %v", kind, object.GetName(), err)
		}
		all = append(all, one)
	}
	return all
}

func deployment(t *testing.T) appsv1.Deployment {
	t.Helper()
	all := ofKind[appsv1.Deployment](t, rendered(t, artifacts(t)), "Deployment")
	if len(all) != 1 {
		t.Fatalf("%d deployments", len(all))
	}
	return all[0]
}

// TestManifestsAreAccepted applies everything twice. A warning counts as a failure: pod security and deprecated fields are answered with one.
func TestManifestsAreAccepted(t *testing.T) {
	for range 2 {
		if _, said := kubectl(t, "apply", "--server-side", "-k", artifacts(t)); strings.Contains(said, "Warning") {
			t.Error(said)
		}
	}
	for _, object := range append(rendered(t, artifacts(t)), rendered(t, artifacts(t, "hub"))...) {
		l := object.GetLabels()
		if l["app.kubernetes.io/part-of"] != "binnacle" || l["app.kubernetes.io/name"] != "binnacle-agent" {
			t.Errorf("%s %s has the labels %v", object.GetKind(), object.GetName(), l)
		}
	}
}

// TestRightsInTheMember wants the list of rights to be exactly the one that is documented.
func TestRightsInTheMember(t *testing.T) {
	objects := rendered(t, artifacts(t))
	want := []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"nodes", "pods"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{"about.k8s.io"}, Resources: []string{"clusterproperties"}, Verbs: []string{"list", "watch"}},
		{NonResourceURLs: []string{"/readyz", "/version"}, Verbs: []string{"get"}},
	}
	roles := ofKind[rbacv1.ClusterRole](t, objects, "ClusterRole")
	if len(roles) != 1 || len(ofKind[rbacv1.Role](t, objects, "Role"))+len(ofKind[rbacv1.RoleBinding](t, objects, "RoleBinding")) != 0 {
		t.Fatal("other roles")
	}
	if diff := cmp.Diff(want, roles[0].Rules); diff != "" {
		t.Errorf("rights (-want +got):\n%s", diff)
	}
	bindings := ofKind[rbacv1.ClusterRoleBinding](t, objects, "ClusterRoleBinding")
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Name: account, Namespace: namespace}}
	if len(bindings) != 1 || bindings[0].RoleRef.Name != roles[0].Name || !cmp.Equal(bindings[0].Subjects, subjects) {
		t.Errorf("bindings %v", bindings)
	}
}

// TestRightsOnTheHub renders the rights for clusters, one with a dot in its name, and wants each account to have the one right for its own.
func TestRightsOnTheHub(t *testing.T) {
	for namespace, cluster := range map[string]string{"fleet": "my-cluster", "other": "eu.c1"} {
		dir := t.TempDir()
		if err := errors.Join(os.CopyFS(dir, os.DirFS(artifacts(t, "hub"))),
			os.WriteFile(filepath.Join(dir, "cluster.env"), []byte("CLUSTER_NAMESPACE="+namespace+"\nCLUSTER_NAME="+cluster+"\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
		objects := rendered(t, dir)
		name := "binnacle-agent." + cluster
		for _, object := range objects {
			if object.GetName() != name || object.GetNamespace() != namespace {
				t.Errorf("%s is %s in %s", object.GetKind(), object.GetName(), object.GetNamespace())
			}
		}
		accounts, roles, bindings := ofKind[corev1.ServiceAccount](t, objects, "ServiceAccount"), ofKind[rbacv1.Role](t, objects, "Role"), ofKind[rbacv1.RoleBinding](t, objects, "RoleBinding")
		if len(objects) != 3 || len(accounts) != 1 || len(roles) != 1 || len(bindings) != 1 {
			t.Fatalf("%d objects", len(objects))
		}
		rules := []rbacv1.PolicyRule{{APIGroups: []string{"binnacle.dev"}, Resources: []string{"clusterstatuses/report"}, ResourceNames: []string{cluster}, Verbs: []string{"create"}}}
		if diff := cmp.Diff(rules, roles[0].Rules); diff != "" {
			t.Errorf("rights (-want +got):\n%s", diff)
		}
		subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Name: name, Namespace: namespace}}
		if bindings[0].RoleRef.Kind != "Role" || bindings[0].RoleRef.Name != name || !cmp.Equal(bindings[0].Subjects, subjects) {
			t.Errorf("binding %v of %v", bindings[0].RoleRef, bindings[0].Subjects)
		}
		if *accounts[0].AutomountServiceAccountToken {
			t.Error("pods on the hub could have the account")
		}
	}
}

// TestRightsOnTheHubAreEnough applies the shipped rights, and asks who may report for whom.
func TestRightsOnTheHubAreEnough(t *testing.T) {
	kubectl(t, "create", "namespace", "fleet")
	t.Cleanup(func() { kubectl(t, "delete", "namespace", "fleet", "--wait=false") })
	kubectl(t, "apply", "--server-side", "-k", artifacts(t, "hub"))
	for _, test := range []struct {
		verb, name, subresource, in string
		want                        bool
	}{
		{"create", "my-cluster", "report", "fleet", true},
		{"create", "another", "report", "fleet", false},
		{"create", "my-cluster", "report", "default", false},
		{"create", "my-cluster", "", "fleet", false},
		{"get", "my-cluster", "report", "fleet", false},
		{"get", "my-cluster", "", "fleet", false},
		{"list", "", "", "fleet", false},
	} {
		review, err := admin().AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:fleet:binnacle-agent.my-cluster",
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Group: "binnacle.dev", Resource: "clusterstatuses", Verb: test.verb, Name: test.name, Subresource: test.subresource, Namespace: test.in},
		}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if review.Status.Allowed != test.want {
			t.Errorf("%+v: allowed is %v", test, review.Status.Allowed)
		}
	}
}

// TestShippedArguments starts the agent with the arguments of the Deployment, paths and ports replaced, and asks what its probes ask.
func TestShippedArguments(t *testing.T) {
	d, s := deployment(t), newStandIn(t, nil)
	c := d.Spec.Template.Spec.Containers[0]
	port, err := framework.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprint("127.0.0.1:", port)
	replaced := map[string]string{
		"--hub-kubeconfig=" + c.VolumeMounts[0].MountPath + "/kubeconfig": "--hub-kubeconfig=" + s.kubeconfig,
		"--health-bind-address=:8081":                                     "--health-bind-address=" + address,
		"--cluster-namespace=$(CLUSTER_NAMESPACE)":                        "--cluster-namespace=fleet",
		"--cluster-name=$(CLUSTER_NAME)":                                  "--cluster-name=c1",
	}
	args := []string{"--kubeconfig=" + memberKubeconfig}
	for _, arg := range c.Args {
		if replaced[arg] == "" {
			t.Errorf("an argument that is not known here: %s", arg)
		}
		args = append(args, replaced[arg])
	}
	startProcess(t, args)
	s.awaitReport(t, "a report", anyReport)
	for name, probe := range map[string]*corev1.Probe{"readiness": c.ReadinessProbe, "liveness": c.LivenessProbe} {
		if probe.HTTPGet.Port.String() != c.Ports[0].Name || c.Ports[0].ContainerPort != 8081 {
			t.Errorf("the %s probe asks port %s", name, probe.HTTPGet.Port.String())
		}
		code, body := 0, ""
		within(t, "an answer to the "+name+" probe", func() bool {
			code, body = get(address, probe.HTTPGet.Path)
			return code == 200
		}, func() any { return body })
	}
	config := ofKind[corev1.ConfigMap](t, rendered(t, artifacts(t)), "ConfigMap")
	if len(config) != 1 || c.EnvFrom[0].ConfigMapRef.Name != config[0].Name || config[0].Data["CLUSTER_NAMESPACE"] == "" || config[0].Data["CLUSTER_NAME"] == "" {
		t.Errorf("the variables come from %v, and there is %v", c.EnvFrom, config)
	}
}

// TestPodSpec holds what nothing else would notice the absence of.
func TestPodSpec(t *testing.T) {
	d := deployment(t)
	spec := d.Spec.Template.Spec
	c := spec.Containers[0]
	if *d.Spec.Replicas != 1 || d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		t.Errorf("%d replicas, %s", *d.Spec.Replicas, d.Spec.Strategy.Type)
	}
	if !*c.SecurityContext.ReadOnlyRootFilesystem || spec.ServiceAccountName != account || spec.Volumes[0].Secret.SecretName != "binnacle-hub" || c.VolumeMounts[0].SubPath != "" {
		t.Errorf("account %s, volumes %v at %v", spec.ServiceAccountName, spec.Volumes, c.VolumeMounts)
	}
	i := slices.IndexFunc(c.Env, func(env corev1.EnvVar) bool { return env.Name == "GOMEMLIMIT" })
	soft, err := resource.ParseQuantity(strings.TrimSuffix(c.Env[i].Value, "B"))
	if limit := c.Resources.Limits.Memory().AsApproximateFloat64(); err != nil || soft.AsApproximateFloat64() < 0.8*limit || soft.AsApproximateFloat64() > 0.9*limit {
		t.Errorf("GOMEMLIMIT=%s with a limit of %s", c.Env[i].Value, c.Resources.Limits.Memory())
	}
	if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() {
		t.Errorf("requests %v", c.Resources.Requests)
	}
	for _, policy := range ofKind[networkingv1.NetworkPolicy](t, rendered(t, artifacts(t)), "NetworkPolicy") {
		selector, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector)
		if err != nil || !selector.Matches(labels.Set(d.Spec.Template.Labels)) {
			t.Errorf("the network policy %s does not select the pod (%v)", policy.Name, err)
		}
	}
}

// TestPodIsAdmitted makes a pod of the template where the strictest pod security is enforced.
func TestPodIsAdmitted(t *testing.T) {
	template := deployment(t).Spec.Template
	for name, change := range map[string]func(*corev1.PodSpec){
		"as shipped": func(*corev1.PodSpec) {},
		"as root":    func(s *corev1.PodSpec) { s.SecurityContext.RunAsUser = new(int64) },
	} {
		pod := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
		pod.GenerateName = "binnacle-agent-"
		change(&pod.Spec)
		_, err := admin().CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if (err == nil) != (name == "as shipped") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
