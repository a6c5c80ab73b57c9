// Package operations tests what is applied to a hub to run the server there, and what operators do to it: the manifests in artifacts, the
// check before installation, backups, the way from custom resources and the removal.
package operations

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// hub is shared by the tests, which leave it as they find it: with artifacts/base, and without a registration.
var hub *framework.Hub

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(runWithHub(m))
}

func runWithHub(m *testing.M) int {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "binnacle-operations-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if hub, err = framework.StartHub(ctx, framework.HubOptions{Dir: dir}); err != nil {
		fmt.Fprintln(os.Stderr, "cannot set the hub up:", err)
		return 1
	}
	defer func() { _ = hub.Stop() }()
	if err := hub.Install(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// kubectl runs kubectl as the hub's administrator and returns what it prints.
func kubectl(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	stdout, stderr, err := hub.Kubectl(context.WithoutCancel(t.Context()), args...)
	if err != nil {
		t.Fatal(err)
	}
	return stdout, stderr
}

// artifacts returns a path in artifacts.
func artifacts(t *testing.T, elements ...string) string {
	t.Helper()
	root, err := framework.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(append([]string{root, "artifacts"}, elements...)...)
}

func client() kubernetes.Interface { return kubernetes.NewForConfigOrDie(hub.AdminConfig()) }

// newNamespace makes a namespace for one test, which is deleted after it.
func newNamespace(t *testing.T, labels map[string]string) string {
	t.Helper()
	namespaces := client().CoreV1().Namespaces()
	created, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-", Labels: labels}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = namespaces.Delete(context.WithoutCancel(t.Context()), created.Name, metav1.DeleteOptions{})
	})
	return created.Name
}

// within waits for a condition for some time.
func within(t *testing.T, limit time.Duration, what string, met func() bool) {
	t.Helper()
	deadline := time.After(limit)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !met() {
		select {
		case <-deadline:
			t.Fatalf("%s does not come within %s", what, limit)
		case <-tick.C:
		}
	}
}

// wantQuoted wants docs/troubleshooting.md to quote what a user sees.
func wantQuoted(t *testing.T, seen, quote string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(artifacts(t), "..", "docs", "troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(seen, quote) {
		t.Errorf("what is seen is %q, without %q", seen, quote)
	}
	if !strings.Contains(string(page), quote) {
		t.Errorf("docs/troubleshooting.md does not quote %q", quote)
	}
}

// apply writes one object as the hub's administrator.
func apply(t *testing.T, namespace, object string) {
	t.Helper()
	kubectl, err := hub.KubectlFor("admin", framework.AdminGroup)
	if err != nil {
		t.Fatal(err)
	}
	kubectl.Stdin = strings.NewReader(object)
	if _, _, err := kubectl.Run(t.Context(), "apply", "--server-side", "--force-conflicts", "-n", namespace, "-f", "-"); err != nil {
		t.Fatal(err)
	}
}
