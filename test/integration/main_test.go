// Package integration tests the server as people run it: the shipped binary, on a real kube-apiserver, kube-controller-manager and
// etcd, with the rights that artifacts/ grants it, and standalone.
package integration

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// The hub and the server on it that the tests share. Each test has its own namespace.
var (
	hub    *framework.Hub
	server *framework.Server
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(runWithHub(m))
}

func runWithHub(m *testing.M) int {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "binnacle-integration-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := setUp(ctx, dir); err != nil {
		fmt.Fprintln(os.Stderr, "cannot set the hub up:", err)
		return 1
	}
	defer func() { _ = hub.Stop() }()
	return m.Run()
}

func setUp(ctx context.Context, dir string) (err error) {
	if hub, err = framework.StartHub(ctx, framework.HubOptions{Dir: dir}); err != nil {
		return err
	}
	if server, err = hub.StartBinnacle(ctx, framework.ServerOptions{}); err != nil {
		return fmt.Errorf("%w (stopping: %v)", err, hub.Stop())
	}
	crds, err := filepath.Abs("testdata/crds")
	if err != nil {
		return err
	}
	if _, _, err = hub.Kubectl(ctx, "apply", "-f", crds); err != nil {
		return err
	}
	_, _, err = hub.Kubectl(ctx, "wait", "--for=condition=Established", "--timeout=30s", "-f", crds)
	return err
}

// newNamespace makes a namespace for one test, which is deleted after it.
func newNamespace(t *testing.T) string {
	t.Helper()
	namespaces := kubernetes.NewForConfigOrDie(hub.AdminConfig()).CoreV1().Namespaces()
	created, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := namespaces.Delete(context.WithoutCancel(t.Context()), created.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	return created.Name
}
