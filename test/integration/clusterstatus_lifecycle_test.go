package integration

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// testRegisteredAgain deletes a cluster and registers one of its name: nothing of the former is left, and what is still on its way to the
// former does not come to the latter.
func testRegisteredAgain(t *testing.T, f fleet) {
	f.add("a")
	events, _ := f.statuses.watch("", "clusterstatuses")
	former := f.profiles.must(get("clusterprofiles/a")).field("metadata", "uid")
	f.report("a", rarely+`,"kubernetesVersion":"v1.37.2",`+propertyNamed("p", "v"))
	before := f.untilPhase("a", "Ready")
	f.profiles.must(request{method: http.MethodDelete, path: "clusterprofiles/a"})
	if a := f.statuses.do(get("clusterstatuses/a")); a.code != http.StatusNotFound {
		t.Errorf("after the profile was deleted: %d %s", a.code, a.raw)
	}
	if a := f.statuses.do(reportOf("a", rarely)); a.code != http.StatusNotFound {
		t.Errorf("a report after the profile was deleted: %d %s", a.code, a.raw)
	}
	f.add("a")
	after := f.status("a")
	if after.field("status", "phase") != "Unknown" || after.field("status", "properties") != nil || after.field("status", "lastReportTime") != nil || after.field("status", "kubernetesVersion") != nil {
		t.Errorf("the new one begins as %s", after.raw)
	}
	if c := condition(after, "Reachable"); c["status"] != "Unknown" || c["reason"] != "NeverReported" {
		t.Errorf("the new one is reachable: %v", c)
	}
	if before.field("metadata", "uid") == after.field("metadata", "uid") {
		t.Error("the new one has the uid of the former")
	}
	if a := f.statuses.do(get("clusterstatuses/a/report")); a.code != http.StatusNotFound {
		t.Errorf("the newest report of the new one: %d %s", a.code, a.raw)
	}
	if a := f.statuses.do(reportOf("a", fmt.Sprintf(`"clusterProfileUID":%q`, former))); a.code != http.StatusConflict {
		t.Errorf("a report for the former: %d %s", a.code, a.raw)
	}
	f.report("a", rarely)
	f.untilPhase("a", "Ready")
	if got := fmt.Sprint(take(t, events, 5)); got != "[ADDED a MODIFIED a DELETED a ADDED a MODIFIED a]" {
		t.Errorf("events: %s", got)
	}
}

// TestReplicasOfOneView registers clusters through one replica and reports for them through another at once, and wants all replicas to
// show the same under the same versions; after a restart too.
func TestReplicasOfOneView(t *testing.T) {
	t.Parallel()
	etcd, _ := externalEtcd(t)
	var fleets []fleet
	var servers []*framework.Server
	for range 2 {
		s := startStandalone(t, framework.ServerOptions{Etcd: etcd, Flags: []string{"--cluster-report-publish-interval=200ms"}})
		servers, fleets = append(servers, s), append(fleets, newFleet(t, adminOf(t, s), "fleet"))
	}
	for i := range 20 {
		name := fmt.Sprintf("c%02d", i)
		registrar, taker := fleets[i%2], fleets[1-i%2]
		registrar.add(name)
		if a := taker.statuses.do(reportOf(name, rarely+fmt.Sprintf(`,"kubernetesVersion":"v1.%d"`, i))); a.code != http.StatusCreated {
			t.Errorf("%s, registered a moment ago: %d %s", name, a.code, a.raw)
		}
	}
	for _, f := range fleets {
		for i := range 20 {
			f.untilPhase(fmt.Sprintf("c%02d", i), "Ready")
		}
	}
	items := func(f fleet) []any { return f.statuses.must(get("clusterstatuses")).field("items").([]any) }
	want := items(fleets[0])
	if diff := cmp.Diff(want, items(fleets[1])); diff != "" {
		t.Errorf("the replicas differ (-first +second):\n%s", diff)
	}
	if err := servers[1].Stop(); err != nil {
		t.Fatal(err)
	}
	if err := servers[1].Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	// What was loaded has the version at which it was.
	version := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == `["resourceVersion"]` }, cmp.Ignore())
	if diff := cmp.Diff(want, items(newFleet(t, adminOf(t, servers[1]), "fleet")), version); diff != "" {
		t.Errorf("the restart changed (-before +after):\n%s", diff)
	}
}

// TestNamespaceOfReporters deletes a namespace whose clusters go on to report: it ends, and nothing is left of it (cases.md, 8).
func TestNamespaceOfReporters(t *testing.T) {
	t.Parallel()
	const clusters = 20
	ctx := context.WithoutCancel(t.Context())
	namespaces := kubernetes.NewForConfigOrDie(hub.AdminConfig()).CoreV1().Namespaces()
	created, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "reporting-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f := newFleet(t, hub.AdminConfig(), created.Name)
	f.addMany(clusters, func(i int) string { return profileNamed(fmt.Sprint("c", i), managed) })
	f.profiles.must(post("clusterprofiles", strings.Replace(profileNamed("held", managed), `"name":"held"`, `"name":"held","finalizers":["example.com/hold"]`, 1)))
	var accepted, unexpected atomic.Int64
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			name := fmt.Sprint("c", i%clusters)
			if i%5 == 0 {
				name = "held"
			}
			switch a := f.statuses.do(reportOf(name, "")); a.code {
			case http.StatusCreated:
				accepted.Add(1)
			case http.StatusNotFound, http.StatusTooManyRequests:
			default:
				// The hub's rule for whatever is created there, as its admission knows no difference between a report and an object.
				if a.code == http.StatusForbidden && apierrors.HasStatusCause(&apierrors.StatusError{ErrStatus: a.status}, corev1.NamespaceTerminatingCause) {
					continue
				}
				if unexpected.Add(1) == 1 {
					t.Logf("a report is answered %d %s", a.code, shorten(string(a.raw)))
				}
			}
		}
	}()
	eventually(t, "clusters to report", func() bool { return accepted.Load() > clusters })
	if err := namespaces.Delete(ctx, created.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "only what is held to be left", func() bool { return fmt.Sprint(f.names("")) == "[held]" })
	f.profiles.must(patch("clusterprofiles/held", `{"metadata":{"finalizers":null}}`))
	within(t, namespaceEnds, "the namespace to be gone", func() bool {
		_, err := namespaces.Get(ctx, created.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	close(stop)
	<-done
	if unexpected.Load() > 0 {
		t.Errorf("%d reports had another answer than 201, 404, 429 or that the namespace ends", unexpected.Load())
	}
	if a := f.statuses.do(get("clusterstatuses")); a.code != http.StatusOK || len(namesOf(a)) != 0 {
		t.Errorf("%d %s", a.code, shorten(string(a.raw)))
	}
	if a := f.statuses.do(reportOf("c0", "")); a.code != http.StatusNotFound {
		t.Errorf("a report after the end: %d %s", a.code, a.raw)
	}
}

// ownedByStatus makes a ConfigMap that is owned by a ClusterStatus.
func (f fleet) ownedByStatus(y yard, name string) object {
	f.t.Helper()
	owner := object{y, ownable{clusterStatuses, "ClusterStatus", nil}, name, types.UID(fmt.Sprint(f.status(name).field("metadata", "uid")))}
	return y.add(ownables[0], "of-status-"+name, nil, owner.owned(false))
}

// TestOwnedByStatus has ConfigMaps owned by a ClusterStatus, which the hub's collector cannot watch. It asks, and takes nothing whose
// owner is there; what is owned by one that is not there any more it takes (cases.md, 12).
func TestOwnedByStatus(t *testing.T) {
	t.Parallel()
	f := hubFleet(t)
	y := newYard(t, f.config, f.namespace)
	f.add("alive", "dead", "again")
	owned := map[string]object{}
	for _, name := range []string{"alive", "dead", "again"} {
		owned[name] = f.ownedByStatus(y, name)
	}
	f.profiles.must(request{method: http.MethodDelete, path: "clusterprofiles/dead"})
	f.profiles.must(request{method: http.MethodDelete, path: "clusterprofiles/again"})
	f.add("again")
	within(t, collected, "what the deleted one owned to be collected", owned["dead"].isGone)
	within(t, collected, "what the former one of a name owned to be collected", owned["again"].isGone)
	if owned["alive"].isGone() || owned["alive"].isGoing() {
		t.Error("what a live ClusterStatus owns was collected")
	}
	f.report("alive", rarely) // Another content is no other object.
	f.untilPhase("alive", "Ready")
	if owned["alive"].isGone() || owned["alive"].isGoing() {
		t.Error("what a live ClusterStatus owns was collected after a change")
	}
}
