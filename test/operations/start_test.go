package operations

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/binnacle-dev/binnacle/test/framework"
)

const requestTimeout = 60 * time.Second

// TestWorkloadsStart runs the shipped server with the arguments of each workload, paths and addresses replaced, under the shipped rights,
// and asks what the probes ask.
func TestWorkloadsStart(t *testing.T) {
	// Its rights, and its Secret. For the others they change nothing.
	kubectl(t, "apply", "--server-side", "-k", artifacts(t, "overlays", "managed-certificate"))
	t.Cleanup(func() { kubectl(t, "delete", "-k", artifacts(t, "components", "managed-certificate")) })
	for _, overlay := range workloads {
		t.Run(overlay, func(t *testing.T) {
			w := workloadOf(t, overlay)
			port := freePort(t)
			files := mount(t, w)
			args := argsOf(t, w, port, files)
			started := run(t, args)
			c := w.container()
			for name, probe := range map[string]*corev1.Probe{"startup": c.StartupProbe, "readiness": c.ReadinessProbe, "liveness": c.LivenessProbe} {
				get := probe.HTTPGet
				if get.Port.String() != c.Ports[0].Name || get.Scheme != corev1.URISchemeHTTPS || c.Ports[0].ContainerPort != 7443 {
					t.Errorf("the %s probe asks %s at port %s", name, get.Scheme, get.Port.String())
				}
				within(t, requestTimeout, name+" probe to succeed", func() bool { return probed(port, get.Path) == http.StatusOK })
				if name == "liveness" && strings.Contains(get.Path, "exclude=") {
					wantExcluded(t, port, get.Path)
				}
			}
			if len(w.claims) == 0 {
				// Its root file system is read-only, and this is all that it would write.
				if _, err := os.Stat(files["/var/lib/binnacle"]); err == nil {
					t.Error("a server without a volume has written into its data directory")
				}
			}
			testMetricsRole(t, port)
			if overlay == "embedded-etcd" {
				registerAsShipped(t, port)
			}
			signalled := time.Now()
			if err := started.stop(); err != nil {
				t.Errorf("the end: %v", err)
			}
			if took, grace := time.Since(signalled), *w.template.Spec.TerminationGracePeriodSeconds; took > time.Duration(grace)*time.Second/2 {
				t.Errorf("an idle server took %s to end, of %d s", took, grace)
			}
		})
	}
}

// registerAsShipped applies the registration of a server that makes its certificate itself, with no other change than to the address:
// the server tells the hub its CA.
func registerAsShipped(t *testing.T, port int) {
	t.Helper()
	objects := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List"}}
	for _, object := range rendered(t, "registration") {
		switch object.GetKind() {
		case "Service":
			object.Object["spec"] = map[string]any{"type": "ExternalName", "externalName": "localhost"}
		case "APIService":
			if _, found, _ := unstructured.NestedString(object.Object, "spec", "caBundle"); found {
				t.Error("a CA is in it already")
			}
			if err := unstructured.SetNestedField(object.Object, int64(port), "spec", "service", "port"); err != nil {
				t.Fatal(err)
			}
		}
		objects.Items = append(objects.Items, *object)
	}
	manifest, err := objects.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	apply(t, framework.Namespace, string(manifest))
	t.Cleanup(func() { removeRegistration(t) })
	if err := hub.Registered(t.Context()); err != nil {
		t.Error(err)
	}
}

// mount makes the files that volumes bring, and returns where they are by where a pod has them.
func mount(t *testing.T, w workload) map[string]string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{"/var/lib/binnacle": filepath.Join(dir, "data")}
	for _, m := range w.container().VolumeMounts {
		files[m.MountPath] = filepath.Join(dir, m.Name)
		if m.Name == "data" {
			continue
		}
		if err := os.MkdirAll(files[m.MountPath], 0o755); err != nil {
			t.Fatal(err)
		}
		ca, leaf := hub.Etcd.CA, framework.Leaf{CommonName: "binnacle"}
		if m.Name == "serving" {
			ca, leaf = hub.ServingCA, framework.Leaf{CommonName: "binnacle", Hosts: []string{framework.Service + "." + framework.Namespace + ".svc"}}
		}
		if _, _, err := ca.IssueFiles(leaf, files[m.MountPath], "tls"); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(files[m.MountPath], "ca.crt"), ca.PEM(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// argsOf replaces what is different outside of a pod. Every path of the arguments has to be in a volume.
func argsOf(t *testing.T, w workload, port int, files map[string]string) []string {
	t.Helper()
	identity, err := hub.ServiceAccountConfig(t.Context(), framework.Namespace, framework.ServiceAccount)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := framework.WriteKubeconfig(kubeconfig, identity); err != nil {
		t.Fatal(err)
	}
	var args []string
	for _, arg := range w.container().Args {
		flag, value, _ := strings.Cut(arg, "=")
		if strings.HasPrefix(value, "/") {
			for at, path := range files {
				if rest, ok := strings.CutPrefix(value, at); ok {
					value = path + rest
				}
			}
		}
		switch flag {
		case "--secure-port":
			if value != "7443" {
				t.Errorf("port %s", value)
			}
			continue
		case "--etcd-servers":
			if value != "embedded" {
				wantServers(t, w, value)
				value = hub.Etcd.URL
			}
		case "--shutdown-delay-duration":
			wantTime(t, w, value)
			value = "1s"
		}
		if value != "" {
			flag += "=" + value
		}
		args = append(args, flag)
	}
	if len(w.claims) == 0 {
		// The default, which a pod without a volume must not need.
		args = append(args, "--data-dir="+files["/var/lib/binnacle"])
	}
	return append(args, "--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(port), "--kubeconfig="+kubeconfig,
		"--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig)
}

// wantServers follows the variable in the arguments to the configuration that the overlay makes.
func wantServers(t *testing.T, w workload, value string) {
	t.Helper()
	for _, env := range w.container().Env {
		if value != "$("+env.Name+")" {
			continue
		}
		for _, config := range ofKind[corev1.ConfigMap](t, w.objects, "ConfigMap") {
			if from := env.ValueFrom.ConfigMapKeyRef; config.Name == from.Name && strings.HasPrefix(config.Data[from.Key], "https://") {
				return
			}
		}
	}
	t.Errorf("--etcd-servers=%s leads to no configuration", value)
}

// wantTime wants what happens at the end to fit into the time that the kubelet gives: the delay, requests that were accepted, watches.
func wantTime(t *testing.T, w workload, value string) {
	t.Helper()
	delay, err := time.ParseDuration(value)
	if grace := time.Duration(*w.template.Spec.TerminationGracePeriodSeconds) * time.Second; err != nil || delay+62*time.Second > grace {
		t.Errorf("a delay of %s and the default times of 60s and 2s do not fit into %s", value, grace)
	}
}

// process is a server that a test started.
type process struct {
	cmd  *exec.Cmd
	done chan error
}

func run(t *testing.T, args []string) *process {
	t.Helper()
	root, err := framework.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(filepath.Join(root, "bin", "binnacle-apiserver"), args...), done: make(chan error, 1)}
	p.cmd.Stderr = t.Output()
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	t.Cleanup(func() { _ = p.stop() })
	return p
}

// stop ends the server as the kubelet does, and returns how it ended.
func (p *process) stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-p.done:
		p.done <- err
		return err
	case <-time.After(requestTimeout):
		_ = p.cmd.Process.Kill()
		return fmt.Errorf("still running after %s", requestTimeout)
	}
}

// probed asks as a kubelet does: without an identity, and without a look at the certificate.
func probed(port int, path string) int {
	code, _ := ask(port, path, "")
	return code
}

func ask(port int, path, token string) (int, string) {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	request, err := http.NewRequest(http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d%s", port, path), nil)
	if err != nil {
		return 0, ""
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, ""
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(text)
}

// wantExcluded wants each check that a probe leaves out to exist.
func wantExcluded(t *testing.T, port int, path string) {
	t.Helper()
	_, with := ask(port, path+"&verbose", "")
	for _, m := range regexp.MustCompile(`exclude=([a-z-]+)`).FindAllStringSubmatch(path, -1) {
		if !strings.Contains(with, "[+]"+m[1]+" excluded: ok") {
			t.Errorf("%s leaves out %s, and the answer is\n%s", path, m[1], with)
		}
	}
}

// testMetricsRole binds the role for reading metrics to an account, which may not read them before.
func testMetricsRole(t *testing.T, port int) {
	t.Helper()
	namespace := newNamespace(t, nil)
	if _, err := client().CoreV1().ServiceAccounts(namespace).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "prometheus"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	config, err := hub.ServiceAccountConfig(t.Context(), namespace, "prometheus")
	if err != nil {
		t.Fatal(err)
	}
	if code, _ := ask(port, "/metrics", config.BearerToken); code != http.StatusForbidden {
		t.Errorf("metrics without the role: %d", code)
	}
	bindMetricsRole(t, namespace, "prometheus")
	within(t, requestTimeout, "metrics", func() bool {
		code, text := ask(port, "/metrics", config.BearerToken)
		return code == http.StatusOK && strings.Contains(text, "apiserver_request_total")
	})
}

func bindMetricsRole(t *testing.T, namespace, account string) {
	t.Helper()
	bindings := client().RbacV1().ClusterRoleBindings()
	binding, err := bindings.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "metrics-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "binnacle-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bindings.Delete(context.WithoutCancel(t.Context()), binding.Name, metav1.DeleteOptions{}) })
}

// exists says whether the hub has an object.
func exists(t *testing.T, kind, name string, args ...string) bool {
	t.Helper()
	out, _ := kubectl(t, append(args, "get", kind, name, "--ignore-not-found", "-o", "name")...)
	return out != ""
}

func freePort(t *testing.T) int {
	t.Helper()
	port, err := framework.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}
