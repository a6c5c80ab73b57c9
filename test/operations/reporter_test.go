package operations

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned"
	binnacle "github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned/typed/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/test/framework"
)

// TestReporterRights gives a reporter the rights that docs/reporter.md does, and wants it to report for its own cluster and to do nothing
// else.
func TestReporterRights(t *testing.T) {
	server, err := hub.StartReplica(t.Context(), framework.ServerOptions{Name: "reporter", DataDir: t.TempDir(), Etcd: hub.Etcd})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop() })
	namespace := newNamespace(t, nil)
	objects := dynamic.NewForConfigOrDie(server.ConfigFor("admin", framework.AdminGroup)).Resource(profiles).Namespace(namespace)
	for _, name := range []string{"fra-1", "fra-2"} {
		if _, err := objects.Create(t.Context(), profile(name, name), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for object := range strings.SplitSeq(reporterManifest(t), "---\n") {
		apply(t, namespace, strings.ReplaceAll(object, "namespace: inventory", "namespace: "+namespace))
	}
	account, err := hub.ServiceAccountConfig(t.Context(), namespace, "reporter-fra-1")
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(server.ConfigFor("nobody"))
	config.BearerToken = account.BearerToken
	clusters := clustersOf(config, namespace)
	// A role that was just made is not known everywhere at once.
	within(t, requestTimeout, "the right to report", func() bool {
		answer, err := reportFor(t.Context(), clusters, "fra-1", nil)
		if err == nil && answer.Status.NextReportSeconds < 1 {
			t.Fatalf("the answer does not say when to report next: %+v", answer.Status)
		}
		return err == nil
	})
	if _, err := reportFor(t.Context(), clusters, "fra-2", nil); !apierrors.IsForbidden(err) {
		t.Errorf("a report for another cluster: got %v, want 403", err)
	}
	if _, err := clusters.Get(t.Context(), "fra-1", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a reporter reads: got %v, want 403", err)
	}
}

func clustersOf(config *rest.Config, namespace string) binnacle.ClusterStatusInterface {
	return versioned.NewForConfigOrDie(config).BinnacleV1alpha1().ClusterStatuses(namespace)
}

// reportFor reports for a cluster, to the ClusterProfile with a uid if one is given.
func reportFor(ctx context.Context, clusters binnacle.ClusterStatusInterface, name string, uid *types.UID) (*v1alpha1.ClusterReport, error) {
	return clusters.Report(ctx, name, &v1alpha1.ClusterReport{Spec: v1alpha1.ClusterReportSpec{
		ClusterProfileUID: uid, IntervalSeconds: ptr.To[int32](10), Nodes: &v1alpha1.NodeCounts{Total: 1, Ready: 1},
	}}, metav1.CreateOptions{})
}

// reporterManifest is the manifest of the page.
func reporterManifest(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(artifacts(t), "..", "docs", "reporter.md"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(page)
	if m == nil {
		t.Fatal("docs/reporter.md has no manifest")
	}
	return string(m[1])
}
