package operations

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// TestMetricsAreServed wants each metric that docs/operations/metrics.md, and the alerts and the dashboard in artifacts/monitoring name to
// be served, by a server on a hub that has answered a few requests.
func TestMetricsAreServed(t *testing.T) {
	server, err := hub.StartReplica(t.Context(), framework.ServerOptions{Name: "metrics", DataDir: t.TempDir(), Etcd: hub.Etcd})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop() })
	namespace := newNamespace(t, nil)
	admin := server.ConfigFor("admin", framework.AdminGroup)
	objects := dynamic.NewForConfigOrDie(admin).Resource(profiles).Namespace(namespace)
	if _, err := objects.Create(t.Context(), profile("a", "a"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := objects.List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	// A watch is counted while it is open.
	w, err := objects.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	clusters := clustersOf(admin, namespace)
	if _, err := reportFor(t.Context(), clusters, "a", nil); err != nil {
		t.Fatal(err)
	}
	// A reason is counted from its first report on.
	if _, err := reportFor(t.Context(), clusters, "a", ptr.To[types.UID]("other")); !apierrors.IsConflict(err) {
		t.Fatalf("a report for another uid: %v", err)
	}
	if _, err := client().CoreV1().ServiceAccounts(namespace).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "prometheus"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	config, err := hub.ServiceAccountConfig(t.Context(), namespace, "prometheus")
	if err != nil {
		t.Fatal(err)
	}
	bindMetricsRole(t, namespace, "prometheus")
	var served string
	within(t, requestTimeout, "metrics", func() bool {
		code := 0
		// With a token, so that there is a TokenReview to count.
		code, served = ask(server.Port, "/metrics", config.BearerToken)
		// What a publication counts is there after the first.
		return code == 200 && strings.Contains(served, `binnacle_report_pages_written_total{page="seen"}`)
	})
	if hubs, _ := kubectl(t, "get", "--raw", "/metrics"); !strings.Contains(hubs, "\n"+elsewhere[0]+"{") {
		t.Errorf("the hub does not serve %s", elsewhere[0])
	}
	is := func(name string) bool {
		return regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + `[{ ]`).MatchString(served)
	}
	for _, name := range slices.Concat(pageMetrics(t), alertMetrics(t), dashboardMetrics(t)) {
		if !is(name) && !is(name+"_count") {
			t.Errorf("%s is not served", name)
		}
	}
}

// pageMetrics are the metrics in the tables of the page.
func pageMetrics(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(artifacts(t), "..", "docs", "operations", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)`").FindAllStringSubmatch(string(page), -1) {
		names = append(names, m[1])
	}
	if len(names) < 10 {
		t.Fatalf("the page names %q", names)
	}
	return names
}

// elsewhere are metrics that others serve: the hub's kube-apiserver, which is asked too, and Prometheus itself.
var elsewhere = []string{"aggregator_unavailable_apiservice", "up"}

// alertMetrics are the metrics in the expressions of the alerts.
func alertMetrics(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(artifacts(t, "monitoring", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.UnmarshalStrict(data, &rules); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			if rule.Alert == "" || rule.Annotations["summary"] == "" || !slices.Contains([]string{"critical", "warning"}, rule.Labels["severity"]) {
				t.Errorf("an alert without name, summary or severity: %+v", rule)
			}
			found := metricsIn(rule.Expr)
			if len(found) == 0 {
				t.Errorf("%s asks for no metric", rule.Alert)
			}
			names = append(names, slices.DeleteFunc(found, func(name string) bool { return slices.Contains(elsewhere, name) })...)
		}
	}
	return names
}

// metricsIn are the metrics in an expression, each of which has a selector.
func metricsIn(expression string) []string {
	var names []string
	for _, m := range regexp.MustCompile(`\b([a-z]\w*)[{[]`).FindAllStringSubmatch(regexp.MustCompile(`"[^"]*"`).ReplaceAllString(expression, ""), -1) {
		names = append(names, strings.TrimSuffix(m[1], "_bucket"))
	}
	return names
}
