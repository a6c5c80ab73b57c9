package operations

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// section returns the commands under a heading of docs/operations/moving-from-crds.md.
func section(t *testing.T, heading string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(artifacts(t), "..", "docs", "operations", "moving-from-crds.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(page), "\n"+heading+"\n")
	commands := regexp.MustCompile("(?s)\n```sh\n(.*?)\n```").FindStringSubmatch(after)
	if !found || commands == nil {
		t.Fatalf("no commands under %q", heading)
	}
	return commands[1]
}

// shell runs commands of a page as the hub's administrator.
func shell(t *testing.T, dir, commands string) {
	t.Helper()
	admin, err := hub.KubectlFor("admin", framework.AdminGroup)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "bash", "-e", "-o", "pipefail", "-c", commands)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "KUBECONFIG="+admin.Kubeconfig, "KUBERC=off", "KUBECACHEDIR="+t.TempDir(), "PATH="+filepath.Dir(admin.Binary)+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s\n%v: %s", commands, err, out)
	}
}

// TestMovingFromCRDs goes the way of docs/operations/moving-from-crds.md and back with the commands of the page: nothing that a user
// wrote may be lost on either.
func TestMovingFromCRDs(t *testing.T) {
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("the page uses jq: ", err)
	}
	upstreamCRDs(t)
	kubectl(t, "delete", "crd", "serviceexports.multicluster.x-k8s.io")
	namespace := newNamespace(t, nil)
	fill(t, namespace)
	before := content(t, namespace)

	dir := t.TempDir()
	shell(t, dir, section(t, "### Save"))
	shell(t, dir, section(t, "### Save the CRDs"))
	kubectl(t, "apply", "--server-side", "-k", artifacts(t, "overlays", "managed-certificate"))
	t.Cleanup(func() { kubectl(t, "delete", "-k", artifacts(t, "components", "managed-certificate")) })
	w, port := workloadOf(t, "embedded-etcd"), freePort(t)
	run(t, argsOf(t, w, port, mount(t, w)))
	within(t, requestTimeout, "a server beside the CRDs", func() bool { return probed(port, "/readyz") == http.StatusOK })
	shell(t, dir, section(t, "### Let go of finalizers"))
	// Step "Take over", with another address.
	registerAsShipped(t, port)
	if left := content(t, namespace); len(left) != 0 {
		t.Fatalf("before the import the server has %v", left)
	}
	shell(t, dir, section(t, "### Load"))
	if diff := cmp.Diff(before, content(t, namespace)); diff != "" {
		t.Errorf("after the import (-before +after):\n%s", diff)
	}
	shell(t, dir, section(t, "### Delete the CRDs"))
	if diff := cmp.Diff(before, content(t, namespace)); diff != "" {
		t.Errorf("after the CRDs are gone (-before +after):\n%s", diff)
	}
	if r := check(t, 0); len(r.Findings) == 0 {
		t.Error("no findings")
	}

	back := t.TempDir()
	shell(t, back, section(t, "### Save"))
	removeRegistration(t)
	crds := filepath.Join(dir, "crds.json")
	kubectl(t, "apply", "--server-side", "-f", crds)
	kubectl(t, "wait", "--for=condition=Established", "--timeout=30s", "-f", crds)
	within(t, requestTimeout, "the hub's own APIServices", func() bool {
		out, _ := kubectl(t, "get", "apiservices", "-o", "jsonpath={range .items[*]}{.metadata.name} {.spec.service.name} {.status.conditions[0].status};{end}")
		return strings.Contains(out, "v1alpha1.multicluster.x-k8s.io  True;") && strings.Contains(out, "v1alpha2.multicluster.x-k8s.io  True;")
	})
	shell(t, back, section(t, "### Load"))
	if diff := cmp.Diff(before, content(t, namespace)); diff != "" {
		t.Errorf("after the way back (-before +after):\n%s", diff)
	}
	// As the CRDs' own objects would hold the test's end up.
	shell(t, back, section(t, "### Let go of finalizers"))
}

// fill writes what is easily lost: status, labels, annotations, finalizers, what only one of the versions has.
func fill(t *testing.T, namespace string) {
	t.Helper()
	for i := range 3 {
		meta := fmt.Sprintf(`"metadata":{"name":"c%d","labels":{"env":"prod"},"annotations":{"note":"kept"}}`, i)
		if i == 0 {
			meta = strings.TrimSuffix(meta, "}") + `,"finalizers":["example.com/held"]}`
		}
		head := `{"apiVersion":"multicluster.x-k8s.io/v1alpha1","kind":"ClusterProfile",` + meta
		apply(t, namespace, head+`,"spec":{"displayName":"Cluster","clusterManager":{"name":"m"}}}`)
		kubectl(t, "patch", "-n", namespace, "clusterprofiles.multicluster.x-k8s.io", fmt.Sprint("c", i), "--subresource=status", "--type=merge", "-p",
			`{"status":{"version":{"kubernetes":"v1.36.0"},"properties":[{"name":"location","value":"fra"}],"credentialProviders":[{"name":"p","cluster":{"server":"https://c.example.com"}}]}}`)
	}
	apply(t, namespace, `{"apiVersion":"multicluster.x-k8s.io/v1alpha1","kind":"PlacementDecision","metadata":{"name":"d"},"schedulerName":"s","decisions":[{"clusterProfileRef":{"name":"c1","namespace":"`+namespace+`"}}]}`)
}

// content is all that users wrote in a namespace, by kind and name.
func content(t *testing.T, namespace string) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, resource := range []string{"clusterprofiles", "placementdecisions"} {
		gvr := schema.GroupVersionResource{Group: "multicluster.x-k8s.io", Version: "v1alpha1", Resource: resource}
		var list *unstructured.UnstructuredList
		within(t, requestTimeout, "a list of "+resource, func() (ok bool) {
			var err error
			list, err = dynamic.NewForConfigOrDie(hub.AdminConfig()).Resource(gvr).Namespace(namespace).List(context.WithoutCancel(t.Context()), metav1.ListOptions{})
			return err == nil
		})
		for _, item := range list.Items {
			object := item.DeepCopy().Object
			object["metadata"] = map[string]any{"labels": item.GetLabels(), "annotations": item.GetAnnotations(), "finalizers": item.GetFinalizers()}
			all[item.GetKind()+" "+item.GetName()] = object
		}
	}
	return all
}
