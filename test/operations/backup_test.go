package operations

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"

	"github.com/binnacle-dev/binnacle/test/framework"
)

var profiles = schema.GroupVersionResource{Group: "multicluster.x-k8s.io", Version: "v1alpha2", Resource: "clusterprofiles"}

// bump is what docs/operations/backup.md says.
const bump = "1000000000"

// TestRestore goes back to a snapshot under a client that watches: its cache has to become what was restored, and no version that it has
// seen may ever come again.
func TestRestore(t *testing.T) {
	t.Run("embedded", func(t *testing.T) {
		data := t.TempDir()
		server, err := hub.StartReplica(t.Context(), framework.ServerOptions{Name: "backup-embedded", DataDir: data})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = server.Stop() })
		testRestore(t, server,
			func(file string) { saveEmbedded(t, data, file) },
			func(file string) {
				in, err := os.Open(file)
				if err != nil {
					t.Fatal(err)
				}
				defer in.Close()
				restoreEmbedded(t, data, in)
			})
	})
	t.Run("external", func(t *testing.T) {
		dir := t.TempDir()
		etcd, err := framework.StartEtcd(t.Context(), framework.EtcdOptions{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = etcd.Stop() })
		server, err := hub.StartReplica(t.Context(), framework.ServerOptions{Name: "backup-external", DataDir: t.TempDir(), Etcd: etcd})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = server.Stop() })
		testRestore(t, server,
			func(file string) {
				config := etcd.Config()
				etcdTool(t, "etcdctl", "snapshot", "save", file, "--endpoints", etcd.URL,
					"--cacert", config.CAFile, "--cert", config.CertFile, "--key", config.KeyFile)
			},
			func(file string) {
				if err := etcd.Stop(); err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(filepath.Join(dir, "etcd"), filepath.Join(dir, "etcd.old")); err != nil {
					t.Fatal(err)
				}
				const peer = "https://127.0.0.1:0"
				etcdTool(t, "etcdutl", "snapshot", "restore", file, "--data-dir", filepath.Join(dir, "etcd"), "--bump-revision", bump, "--mark-compacted",
					"--name", "etcd", "--initial-cluster", "etcd="+peer, "--initial-advertise-peer-urls", peer)
				if err := etcd.Restart(t.Context()); err != nil {
					t.Fatal(err)
				}
			})
	})
}

func saveEmbedded(t *testing.T, data, file string) {
	t.Helper()
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	runBinary(t, nil, out, "snapshot", "--data-dir="+data)
}

// restoreEmbedded does what the pod in artifacts/restore does, with another folder.
func restoreEmbedded(t *testing.T, data string, snapshot io.Reader) {
	t.Helper()
	args := slices.Clone(restorePod(t).Spec.Containers[0].Args)
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, "/var/lib/binnacle", data)
	}
	var out bytes.Buffer
	runBinary(t, snapshot, &out, args...)
	if !strings.Contains(out.String(), filepath.Join(data, "etcd", "data.old-")) {
		t.Errorf("it says %s", out.String())
	}
}

func runBinary(t *testing.T, in io.Reader, out io.Writer, args ...string) {
	t.Helper()
	root, err := framework.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "bin", "binnacle-apiserver"), args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
}

var buildEtcdTools = sync.OnceValues(func() (string, error) {
	root, err := framework.ModuleRoot()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, "_output", "tools")
	cmd := exec.Command("go", "build", "-C", filepath.Join(root, "hack", "etcd"), "-o", dir+"/", "go.etcd.io/etcd/etcdctl/v3", "go.etcd.io/etcd/etcdutl/v3")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build etcd's tools: %w: %s", err, out)
	}
	return dir, nil
})

func etcdTool(t *testing.T, tool string, args ...string) {
	t.Helper()
	dir, err := buildEtcdTools()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), filepath.Join(dir, tool), args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", tool, args, err, out)
	}
}

func testRestore(t *testing.T, server *framework.Server, save, restore func(file string)) {
	namespace := newNamespace(t, nil)
	config, err := server.AdminConfig()
	if err != nil {
		t.Fatal(err)
	}
	objects := dynamic.NewForConfigOrDie(config).Resource(profiles).Namespace(namespace)
	cache := dynamicinformer.NewFilteredDynamicSharedInformerFactory(dynamic.NewForConfigOrDie(config), 0, namespace, nil)
	informer := cache.ForResource(profiles).Informer()
	cache.Start(t.Context().Done())
	cached := func() []string {
		var all []string
		for _, object := range informer.GetStore().List() {
			all = append(all, describe(object.(*unstructured.Unstructured)))
		}
		slices.Sort(all)
		return all
	}
	create := func(name, title string) *unstructured.Unstructured {
		created, err := objects.Create(t.Context(), profile(name, title), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return created
	}
	kept := create("kept", "before")
	create("deleted", "before")
	file := filepath.Join(t.TempDir(), "snapshot.db")
	save(file)

	create("lost", "after")
	kept.Object["spec"].(map[string]any)["displayName"] = "after"
	if _, err := objects.Update(t.Context(), kept, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := objects.Delete(t.Context(), "deleted", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	last := create("lost-too", "after")
	after := []string{"kept after", "lost after", "lost-too after"}
	within(t, requestTimeout, "the cache after the snapshot", func() bool { return slices.Equal(cached(), after) })

	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	restore(file)
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := []string{"deleted before", "kept before"}
	within(t, 2*time.Minute, "the cache to hold what was restored", func() bool { return slices.Equal(cached(), before) })
	wantOnlyUp(t, objects, last)
	wantExpired(t, objects, last.GetResourceVersion())
}

// wantOnlyUp wants no version up to the last one of before to be given again.
func wantOnlyUp(t *testing.T, objects dynamic.ResourceInterface, last *unstructured.Unstructured) {
	t.Helper()
	list, err := objects.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	created, err := objects.Create(t.Context(), profile("new", "new"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for what, version := range map[string]string{"the list": list.GetResourceVersion(), "a new object": created.GetResourceVersion()} {
		if number(t, version) <= number(t, last.GetResourceVersion()) {
			t.Errorf("%s has version %s, and %s was given before the restore", what, version, last.GetResourceVersion())
		}
	}
}

// wantExpired wants whoever goes on from before the restore to be told to list anew.
func wantExpired(t *testing.T, objects dynamic.ResourceInterface, version string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), requestTimeout)
	defer cancel()
	w, err := objects.Watch(ctx, metav1.ListOptions{ResourceVersion: version})
	if err != nil {
		if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			t.Errorf("a watch from before: %v", err)
		}
		return
	}
	defer w.Stop()
	event := <-w.ResultChan()
	if status, ok := event.Object.(*metav1.Status); !ok || status.Code != http.StatusGone {
		t.Errorf("a watch from before is answered %s %v", event.Type, event.Object)
	}
}

func profile(name, title string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "multicluster.x-k8s.io/v1alpha2", "kind": "ClusterProfile", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"displayName": title, "clusterManager": map[string]any{"name": "m"}},
	}}
}

func describe(object *unstructured.Unstructured) string {
	title, _, _ := unstructured.NestedString(object.Object, "spec", "displayName")
	return object.GetName() + " " + title
}

func number(t *testing.T, version string) int {
	t.Helper()
	n, err := strconv.Atoi(version)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
