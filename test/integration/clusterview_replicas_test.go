package integration

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	binnaclev1alpha1 "github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned/typed/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/test/framework"
)

// Each decision that comes or goes is one revision with an event of each cluster.
const (
	viewClusters = 100
	viewToggles  = 84
)

// TestReplicasShowOneView reads and watches at two replicas behind a hub, while clusters report, decisions come and go, and the replicas are
// killed in turn. No reader is ever taken back, no watcher misses an event or has one twice, and a version has one content.
func TestReplicasShowOneView(t *testing.T) {
	own := startOwnHub(t, framework.HubOptions{}, 2, "--cluster-report-publish-interval=200ms", "--cluster-grace-period=60s")
	namespace := own.namespace(t, "view")
	c := register(t, own.AdminConfig(), namespace, viewClusters)
	clients := c.at(t, own.replicas)
	r := newReporters(t, namespace, adminOf(t, own.replicas[0]), adminOf(t, own.replicas[1])).start(t, c.names, numbered)
	untilAll(t, clients[1], "all to be Ready", inPhase(v1alpha1.ClusterReady))

	viewers := []*viewer{startViewer(t, clients[0], clients[1]), startViewer(t, clients[1], clients[0])}
	begin := viewers[0].known()
	readers := []*reader{
		startReader(t, &r.starting, clients...), startReader(t, &r.starting, clients[1], clients[0]),
		startReader(t, &r.starting, statusesOf(t, own.AdminConfig(), namespace)),
	}
	toggles := startToggles(t, own, c)
	for i, replica := range []int{0, 1, 0, 1} {
		toggles.await(t, (i+1)*viewToggles/6)
		if err := own.replicas[replica].Kill(); err != nil {
			t.Fatal(err)
		}
		toggles.await(t, (i+1)*viewToggles/6+4) // Some happen while there is one.
		r.starting.Store(true)
		if err := own.replicas[replica].Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.starting.Store(false)
	}
	both := versionOf(t, clients[0]) // From here on both have all of the history.
	toggles.await(t, viewToggles)
	for _, reader := range readers {
		reader.stop()
		reader.check(t)
	}
	r.stop()
	r.check(t)
	final := untilPublished(t, clients, r)
	wantToTheEnd(t, viewers, final)
	for i, v := range viewers {
		if relists := v.check(t); relists > 0 {
			t.Errorf("viewer %d had to list again %d times, and one replica always had what it had not seen", i, relists)
		}
		wantToggles(t, v, begin, viewToggles)
	}
	wantSame(t, viewers)
	if n := len(viewers[0].seen()); n < 10_000 {
		t.Errorf("%d events are too few for this test", n)
	}
	t.Logf("%d events, %d and %d watches, %d reads", len(viewers[0].seen()), viewers[0].resumed, viewers[1].resumed, readers[0].reads+readers[1].reads+readers[2].reads)
	wantOneContent(t, own, namespace, viewers[0], both)
}

// versionOf is the version of a consistent list.
func versionOf(t *testing.T, client binnaclev1alpha1.ClusterStatusInterface) uint64 {
	t.Helper()
	list, err := client.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	version, err := strconv.ParseUint(list.ResourceVersion, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// untilPublished waits until both replicas show what was reported last, and wants them to show the same.
func untilPublished(t *testing.T, clients []binnaclev1alpha1.ClusterStatusInterface, r *reporters) *v1alpha1.ClusterStatusList {
	t.Helper()
	last := r.taken() // A report whose answer did not come may have been taken too.
	for _, client := range clients {
		untilAll(t, client, "what was reported last", func(s *v1alpha1.ClusterStatus) bool { return numberIn(s) >= last[s.Name] })
	}
	var lists []*v1alpha1.ClusterStatusList
	for _, client := range clients {
		list, err := client.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		list.ResourceVersion = "" // Publications that only move the time are versions of the list.
		lists = append(lists, list)
	}
	if diff := cmp.Diff(lists[0], lists[1]); diff != "" {
		t.Errorf("the replicas show different clusters:\n%s", diff)
	}
	return lists[0]
}

// wantToTheEnd waits until viewers have seen everything, and wants what they put together from events to be what is listed.
func wantToTheEnd(t *testing.T, viewers []*viewer, final *v1alpha1.ClusterStatusList) {
	t.Helper()
	want := map[string]*v1alpha1.ClusterStatus{}
	for i := range final.Items {
		want[final.Items[i].Name] = &final.Items[i]
	}
	for _, v := range viewers {
		within(t, viewPatience, "the last event", func() bool { return cmp.Equal(want, v.known()) })
	}
}

// wantToggles wants each cluster to have been seen chosen and not chosen as often as it was, and its reports in order.
func wantToggles(t *testing.T, v *viewer, begin map[string]*v1alpha1.ClusterStatus, n int) {
	t.Helper()
	chosen, number, moves := map[string]int32{}, map[string]int{}, map[string]int{}
	for name, s := range begin {
		number[name] = numberIn(s)
	}
	for _, s := range v.seen() {
		name := s.status.Name
		if count := s.status.Status.Placements.Count; count != chosen[name] {
			chosen[name] = count
			moves[name]++
		}
		if got := numberIn(s.status); got < number[name] {
			t.Errorf("%s went from report %d back to %d", name, number[name], got)
		}
		number[name] = numberIn(s.status)
	}
	for name := range begin {
		if moves[name] != n {
			t.Errorf("%s was seen chosen and not chosen %d times, want %d", name, moves[name], n)
		}
	}
}

// wantOneContent lists at exactly the versions of some events, at both replicas. Since is when both were loaded: a replica does not know at
// which version a cluster that has not changed since came to be what it is, and calls it that of its load.
func wantOneContent(t *testing.T, own ownHub, namespace string, v *viewer, since uint64) {
	t.Helper()
	callers := []caller{
		newCaller(t, adminOf(t, own.replicas[0]), "binnacle.dev", namespace, "v1alpha1"),
		newCaller(t, adminOf(t, own.replicas[1]), "binnacle.dev", namespace, "v1alpha1"),
	}
	var events []sighting
	for _, s := range v.seen() {
		if s.version > since {
			events = append(events, s)
		}
	}
	compared := 0
	for i := 0; i < len(events); i += max(1, len(events)/40) {
		path := fmt.Sprint("clusterstatuses?resourceVersionMatch=Exact&resourceVersion=", events[i].version)
		one, other := callers[0].must(get(path)), callers[1].must(get(path))
		forgetVersions(one, since)
		forgetVersions(other, since)
		if diff := cmp.Diff(one.object, other.object); diff != "" {
			t.Errorf("version %d differs from one replica to the other:\n%s", events[i].version, diff)
		}
		client := statusesOf(t, adminOf(t, own.replicas[i%2]), namespace)
		list, err := client.List(t.Context(), metav1.ListOptions{ResourceVersion: fmt.Sprint(events[i].version), ResourceVersionMatch: metav1.ResourceVersionMatchExact})
		if err != nil {
			t.Fatal(err)
		}
		for j := range list.Items {
			if list.Items[j].Name == events[i].status.Name && !cmp.Equal(&list.Items[j], events[i].status) {
				t.Errorf("version %d is another in a list than in an event:\n%s", events[i].version, cmp.Diff(&list.Items[j], events[i].status))
			}
		}
		compared++
	}
	if compared < 20 {
		t.Errorf("only %d versions were compared", compared)
	}
}

// forgetVersions removes the versions of the items of a list that are not above one.
func forgetVersions(list answer, since uint64) {
	items, _ := list.field("items").([]any)
	for _, item := range items {
		metadata, _ := item.(map[string]any)["metadata"].(map[string]any)
		if version, err := strconv.ParseUint(fmt.Sprint(metadata["resourceVersion"]), 10, 64); err == nil && version <= since {
			delete(metadata, "resourceVersion")
		}
	}
}
