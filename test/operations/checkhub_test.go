package operations

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// report is what check-hub -o json prints.
type report struct {
	Ready    bool
	Findings []finding
}

type finding struct {
	Check, Level, Object, Message string
	Objects                       *int64
}

// about returns the findings about an object, or of a check.
func (r report) about(t *testing.T, what string) finding {
	t.Helper()
	for _, f := range r.Findings {
		if f.Object == what || f.Check == what {
			return f
		}
	}
	t.Fatalf("nothing about %s in %+v", what, r.Findings)
	return finding{}
}

func runCheck(t *testing.T, want int, args ...string) string {
	t.Helper()
	out, _ := runCheckSaid(t, want, args...)
	return out
}

func runCheckSaid(t *testing.T, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	root, err := framework.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "bin", "binnacle-apiserver"), append([]string{"check-hub"}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG=", "HOME="+t.TempDir())
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != want {
		t.Fatalf("exit code %d, want %d\n%s%s", got, want, out.String(), said.String())
	}
	return out.String(), said.String()
}

func check(t *testing.T, want int, args ...string) report {
	t.Helper()
	kubeconfig, err := hub.Kubeconfig("admin", framework.AdminGroup)
	if err != nil {
		t.Fatal(err)
	}
	var r report
	out := runCheck(t, want, append(args, "-o", "json", "--kubeconfig="+kubeconfig)...)
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	if r.Ready != (want == 0) {
		t.Errorf("ready is %v with exit code %d", r.Ready, want)
	}
	return r
}

// upstreamCRDs installs the CRDs of the upstream group, and removes them after the test.
func upstreamCRDs(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	files, err := filepath.Glob("../integration/testdata/crds/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range append(files, "testdata/other-crd.yaml") {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		data = bytes.ReplaceAll(data, []byte("twin.binnacle.dev"), []byte("multicluster.x-k8s.io"))
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kubectl(t, "apply", "-f", dir)
	t.Cleanup(func() {
		kubectl(t, "delete", "--ignore-not-found", "-f", dir)
		within(t, requestTimeout, "the hub's own APIServices to go", func() bool {
			return !exists(t, "apiservice", "v1alpha1.multicluster.x-k8s.io") && !exists(t, "apiservice", "v1alpha2.multicluster.x-k8s.io")
		})
	})
	kubectl(t, "wait", "--for=condition=Established", "--timeout=30s", "-f", dir)
	// An established CRD is served a moment later.
	for _, path := range []string{"v1alpha1/clusterprofiles", "v1alpha2/clusterprofiles", "v1alpha1/placementdecisions", "v1alpha2/placementdecisions", "v1alpha1/serviceexports"} {
		within(t, requestTimeout, path, func() bool {
			_, _, err := hub.Kubectl(t.Context(), "get", "--raw", "/apis/multicluster.x-k8s.io/"+path)
			return err == nil
		})
	}
	within(t, requestTimeout, "the hub's own APIServices", func() bool {
		return exists(t, "apiservice", "v1alpha1.multicluster.x-k8s.io") && exists(t, "apiservice", "v1alpha2.multicluster.x-k8s.io")
	})
}

func TestCheckHub(t *testing.T) {
	t.Run("a hub that is ready", func(t *testing.T) {
		r := check(t, 0)
		for _, what := range []string{"hub-version", "aggregation-layer", "v1alpha1.multicluster.x-k8s.io", "v1alpha2.multicluster.x-k8s.io", "customresourcedefinition", "server-rights"} {
			if f := r.about(t, what); f.Level != "ok" {
				t.Errorf("%+v", f)
			}
		}
	})
	t.Run("an account that lacks a right", func(t *testing.T) {
		roles := client().RbacV1().ClusterRoles()
		role, err := roles.Get(t.Context(), framework.ServiceAccount, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		role.Rules = slices.DeleteFunc(role.Rules, func(rule rbacv1.PolicyRule) bool { return slices.Contains(rule.Resources, "flowschemas") })
		if _, err := roles.Update(t.Context(), role, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := hub.Install(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		if f := check(t, 1).about(t, "server-rights"); f.Level != "problem" || f.Message != "may not list flowschemas.flowcontrol.apiserver.k8s.io; see artifacts/base" {
			t.Errorf("%+v", f)
		}
	})
	t.Run("no account yet", func(t *testing.T) {
		if f := check(t, 0, "--server-account=default/none").about(t, "server-rights"); f.Level != "note" {
			t.Errorf("%+v", f)
		}
	})
	t.Run("a server with a managed certificate", testCheckManagedCertificate)
	t.Run("registered without a server", func(t *testing.T) {
		kubectl(t, "apply", "--server-side", "-k", artifacts(t, "registration"))
		t.Cleanup(func() { kubectl(t, "delete", "-k", artifacts(t, "registration")) })
		kubectl(t, "wait", "--for=condition=Available=False", "--timeout=30s", "apiservices", "-l", "app.kubernetes.io/part-of=binnacle")
		f := check(t, 1).about(t, "v1alpha1.multicluster.x-k8s.io")
		if f.Level != "problem" || !strings.HasPrefix(f.Message, "registered for binnacle-system/binnacle-apiserver, and not available: EndpointsNotFound: ") {
			t.Errorf("%+v", f)
		}
		if f := check(t, 1, "--service=other/other").about(t, "v1alpha1.multicluster.x-k8s.io"); f.Level != "problem" {
			t.Errorf("%+v", f)
		}
	})
	t.Run("CRDs", testCheckCRDs)
}

// testCheckManagedCertificate takes one right after the other from a server that makes its certificate itself.
func testCheckManagedCertificate(t *testing.T) {
	kubectl(t, "apply", "--server-side", "-k", artifacts(t, "overlays", "managed-certificate"))
	t.Cleanup(func() {
		kubectl(t, "delete", "--ignore-not-found", "-k", artifacts(t, "components", "managed-certificate"))
	})
	if f := check(t, 0).about(t, "server-rights"); f.Message != "complete, with those for the managed certificate" {
		t.Errorf("%+v", f)
	}
	kubectl(t, "delete", "clusterrolebinding", "binnacle-apiserver:ca-bundle")
	if f := check(t, 1).about(t, "server-rights"); f.Message != "may not get apiservices v1alpha2.multicluster.x-k8s.io; see artifacts/components/managed-certificate" {
		t.Errorf("%+v", f)
	}
	kubectl(t, "delete", "rolebinding", "-n", framework.Namespace, "binnacle-apiserver:serving-cert")
	if f := check(t, 1).about(t, "server-rights"); f.Message != "may not get secrets binnacle-system/binnacle-serving-cert; see artifacts/components/managed-certificate" {
		t.Errorf("%+v", f)
	}
	if f := check(t, 0, "--serving-cert-secret=binnacle-system/none").about(t, "server-rights"); f.Message != "complete" {
		t.Errorf("%+v", f)
	}
	// The server itself ends at once, and says where the right is.
	w := workloadOf(t, "external-etcd")
	root, err := framework.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), requestTimeout)
	defer cancel()
	server := exec.CommandContext(ctx, filepath.Join(root, "bin", "binnacle-apiserver"), argsOf(t, w, freePort(t), mount(t, w))...)
	said, err := server.CombinedOutput()
	if err == nil || !strings.Contains(string(said), "see the Role and the ClusterRole in artifacts/components/managed-certificate") {
		t.Errorf("the server: %v, %s", err, said)
	}
}

func aProfile(name string) string {
	return `{"apiVersion":"multicluster.x-k8s.io/v1alpha1","kind":"ClusterProfile","metadata":{"name":"` + name + `"},"spec":{"clusterManager":{"name":"m"}}}`
}

func testCheckCRDs(t *testing.T) {
	upstreamCRDs(t)
	namespace := newNamespace(t, nil)
	for _, name := range []string{"a", "b"} {
		apply(t, namespace, aProfile(name))
	}
	before, _ := kubectl(t, "get", "apiservices,crd,clusterprofiles", "-A", "-o", "jsonpath={range .items[*]}{.metadata.name} {.metadata.generation}{end}")
	r := check(t, 1)
	tests := []struct {
		object, level, message string
		objects                int64
	}{
		{"clusterprofiles.multicluster.x-k8s.io v1alpha1", "problem", "would be hidden with 2 objects: move them", 2},
		{"clusterprofiles.multicluster.x-k8s.io v1alpha2", "problem", "would be hidden with 2 objects: move them", 2},
		{"placementdecisions.multicluster.x-k8s.io v1alpha1", "note", "it holds no objects", 0},
		{"serviceexports.multicluster.x-k8s.io v1alpha1", "problem", "this server does not have the kind", 0},
	}
	for _, test := range tests {
		f := r.about(t, test.object)
		if f.Level != test.level || !strings.Contains(f.Message, test.message) || f.Objects == nil || *f.Objects != test.objects {
			t.Errorf("%+v, want %+v", f, test)
		}
	}
	if f := r.about(t, "v1alpha1.multicluster.x-k8s.io"); f.Level != "note" || !strings.Contains(f.Message, "the hub keeps it for CRDs") {
		t.Errorf("%+v", f)
	}
	for _, f := range r.Findings {
		if strings.HasSuffix(f.Object, " v1beta1") {
			t.Errorf("a version that is not ours is reported: %+v", f)
		}
	}
	if after, _ := kubectl(t, "get", "apiservices,crd,clusterprofiles", "-A", "-o", "jsonpath={range .items[*]}{.metadata.name} {.metadata.generation}{end}"); after != before {
		t.Errorf("the check has changed something:\n%s\n%s", before, after)
	}
	t.Run("that hold nothing", func(t *testing.T) {
		kubectl(t, "delete", "crd", "serviceexports.multicluster.x-k8s.io")
		kubectl(t, "delete", "clusterprofiles", "-n", namespace, "--all")
		within(t, requestTimeout, "the CRD to go", func() bool { return !exists(t, "crd", "serviceexports.multicluster.x-k8s.io") })
		for _, f := range check(t, 0).Findings {
			if f.Level == "problem" {
				t.Errorf("%+v", f)
			}
		}
	})
	t.Run("that convert nothing", func(t *testing.T) { testCheckBrokenCRD(t, namespace) })
}

// testCheckBrokenCRD has a CRD whose objects cannot be listed: its conversion webhook is away.
func testCheckBrokenCRD(t *testing.T, namespace string) {
	apply(t, namespace, aProfile("a"))
	kubectl(t, "patch", "crd", "clusterprofiles.multicluster.x-k8s.io", "--type=merge", "-p",
		`{"spec":{"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":"https://127.0.0.1:1/convert"}}}}}`)
	within(t, requestTimeout, "the conversion to fail", func() bool {
		_, _, err := hub.Kubectl(t.Context(), "get", "--raw", "/apis/multicluster.x-k8s.io/v1alpha2/clusterprofiles")
		return err != nil
	})
	r := check(t, 1)
	f := r.about(t, "clusterprofiles.multicluster.x-k8s.io v1alpha2")
	if f.Level != "problem" || f.Objects != nil || !strings.Contains(f.Message, "conversion webhook") {
		t.Errorf("%+v", f)
	}
	if f := r.about(t, "server-rights"); f.Level != "ok" {
		t.Errorf("%+v", f)
	}
}

// TestCheckHubFails is what ends with 2: nothing is known about the hub then.
func TestCheckHubFails(t *testing.T) {
	nobody, err := hub.Kubeconfig("nobody-in-particular")
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	standalone, err := framework.StartStandalone(t.Context(), framework.ServerOptions{Dir: t.TempDir(), Name: "check-standalone", DataDir: data})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = standalone.Stop() })
	tests := []struct {
		name string
		args []string
		said string
	}{
		{"no hub", nil, "--kubeconfig"},
		{"no such file", []string{"--kubeconfig=/nonexistent"}, "/nonexistent"},
		{"no rights", []string{"--kubeconfig=" + nobody}, "forbidden"},
		{"no such output", []string{"--kubeconfig=" + nobody, "-o", "yaml"}, `"yaml" is neither text nor json`},
		{"no such flag", []string{"--none"}, "--none"},
		{"an argument", []string{"extra"}, `"extra"`},
		{"no such form", []string{"--kubeconfig=" + nobody, "--service=none"}, "NAMESPACE/NAME"},
		{"too many parts", []string{"--kubeconfig=" + nobody, "--server-account=a/b/c"}, `--server-account: "a/b/c"`},
		{"no hub but a standalone server", []string{"--kubeconfig=" + filepath.Join(data, "kubeconfig")}, "is no Kubernetes hub"},
		{"a silent hub", []string{"--kubeconfig=" + silent(t)}, "exceeded"}, // The deadline, by one of two clocks.
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			began := time.Now()
			if out, said := runCheckSaid(t, 2, test.args...); out != "" || !strings.Contains(said, test.said) {
				t.Errorf("it says %s%s", out, said)
			}
			if took := time.Since(began); took > 25*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// silent returns the kubeconfig of a hub that accepts connections and says nothing.
func silent(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := framework.WriteKubeconfig(file, &rest.Config{Host: "http://" + listener.Addr().String()}); err != nil {
		t.Fatal(err)
	}
	return file
}
