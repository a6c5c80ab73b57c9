package clusterstatus_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/clusterstatus"
	"github.com/binnacle-dev/binnacle/pkg/clusterstatus/derive"
	"github.com/binnacle-dev/binnacle/pkg/report/pages"
)

// TestLife follows a cluster from its registration to its end, with reports to two replicas in turn.
func TestLife(t *testing.T) {
	h := newHub(t)
	a, b := h.start(), h.start()
	uid := h.register("x", 1)
	if got := b.get("x"); got.Status.Phase != binnacle.ClusterUnknown || got.UID != derive.UID(uid) {
		t.Errorf("registered: %+v", got)
	}
	a.report(uid, "v1.37.1")
	a.publish()
	if got := b.get("x"); got.Status.Phase != binnacle.ClusterReady || got.Status.KubernetesVersion != "v1.37.1" {
		t.Errorf("after a report to the other replica: %+v", got.Status)
	}
	h.wall.Step(10 * time.Second)
	b.report(uid, "v1.37.2")
	b.publish()
	if got := a.get("x"); got.Status.KubernetesVersion != "v1.37.2" || !cmp.Equal(got.Status, b.get("x").Status) {
		t.Errorf("after the next report: %+v", got.Status)
	}
	// Silence is an event though nobody wrote anything.
	events := a.watch(a.list().ResourceVersion)
	for range 11 {
		h.wall.Step(3 * time.Second)
		b.publish()
	}
	if e := next(t, events); e.Type != watch.Modified {
		t.Errorf("the event of the silence is %s", e.Type)
	}
	if got := b.get("x"); got.Status.Phase != binnacle.ClusterUnreachable {
		t.Errorf("after a silence of 33 s: %+v", got.Status)
	}
	// The same name is another cluster.
	h.delete("clusterprofiles", "x")
	h.register("x", 2)
	if got := a.get("x"); got.Status.Phase != binnacle.ClusterUnknown || got.Status.KubernetesVersion != "" || got.UID == derive.UID(uid) {
		t.Errorf("registered anew: %+v", got)
	}
	if e := next(t, events); e.Type != watch.Deleted {
		t.Errorf("the event of the deletion is %s", e.Type)
	}
	if e := next(t, events); e.Type != watch.Added {
		t.Errorf("the event of the registration is %s", e.Type)
	}
}

func next(t *testing.T, w watch.Interface) watch.Event {
	t.Helper()
	select {
	case e, ok := <-w.ResultChan():
		if !ok {
			t.Fatal("the watch ended")
		}
		return e
	case <-time.After(30 * time.Second):
		t.Fatal("no event within 30 s")
	}
	return watch.Event{}
}

// TestPlacements has slices come, move clusters and go.
func TestPlacements(t *testing.T) {
	h := newHub(t)
	r := h.start()
	h.register("x", 1)
	h.register("y", 1)
	decide := func(name, key string, clusters ...string) {
		d := &multicluster.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "fleet"}, Decisions: multicluster.ClusterDecisions{}}
		if key != "" {
			d.Labels = map[string]string{multicluster.DecisionKeyLabel: key}
		}
		for _, c := range clusters {
			d.Decisions = append(d.Decisions, multicluster.ClusterDecision{ClusterProfileRef: multicluster.ClusterProfileReference{Name: &c}})
		}
		h.put("placementdecisions", name, d)
	}
	check := func(step string, want map[string][]string) {
		t.Helper()
		for cluster, keys := range want {
			got := r.get(cluster).Status.Placements
			if int(got.Count) != len(keys) || !cmp.Equal(append([]string{}, got.Keys...), append([]string{}, keys...)) {
				t.Errorf("%s: %s is named by %+v, want %v", step, cluster, got, keys)
			}
		}
	}
	decide("one-0", "one", "x", "y", "nobody")
	decide("alone", "", "x")
	check("decided", map[string][]string{"x": {"fleet/alone", "fleet/one"}, "y": {"fleet/one"}})
	decide("one-1", "one", "y")
	check("in two slices", map[string][]string{"y": {"fleet/one"}})
	decide("one-0", "one", "x")
	check("in one slice again", map[string][]string{"x": {"fleet/alone", "fleet/one"}, "y": {"fleet/one"}})
	decide("one-1", "two", "y")
	check("of another decision", map[string][]string{"y": {"fleet/two"}})
	h.delete("placementdecisions", "one-1")
	h.delete("placementdecisions", "alone")
	check("deleted", map[string][]string{"x": {"fleet/one"}, "y": nil})
}

// TestReplicasAgree has two replicas with clocks that differ, reports that come to either, publications at the same moment, and
// restarts; every event has on both the same version and the same content, and both end with the same view.
func TestReplicasAgree(t *testing.T) {
	h := newHub(t)
	r := rand.New(rand.NewPCG(5, 6))
	const clusters = 40
	generation := make([]int, clusters)
	uids := make([]types.UID, clusters)
	for i := range clusters {
		uids[i] = h.register(fmt.Sprintf("c%02d", i), 0)
	}
	replicas := []*replica{h.start(), h.start()}
	logs := []*journal{newJournal(t), newJournal(t)}
	for i := range replicas {
		logs[i].follow(replicas[i])
	}
	for step := range 150 {
		h.wall.Step(time.Duration(1+r.IntN(4)) * time.Second)
		for i := range clusters {
			switch p := r.IntN(100); {
			case p < 40:
				replicas[r.IntN(2)].report(uids[i], fmt.Sprintf("v1.%d", r.IntN(3)))
			case p == 40:
				generation[i]++
				h.delete("clusterprofiles", fmt.Sprintf("c%02d", i))
				uids[i] = h.register(fmt.Sprintf("c%02d", i), generation[i])
			}
		}
		var both sync.WaitGroup
		for _, replica := range replicas {
			both.Go(replica.publish)
		}
		both.Wait()
		if step%50 == 49 {
			which := r.IntN(2)
			replicas[which].stop()
			replicas[which] = h.start()
			logs[which].follow(replicas[which])
		}
	}
	h.eventually("both replicas to show the same", func() bool {
		return contents(replicas[0]) == contents(replicas[1])
	})
	compared := 0
	for version, content := range logs[0].take() {
		if other, ok := logs[1].take()[version]; ok {
			compared++
			if other != content {
				t.Errorf("version %s is on one replica\n%s\nand on the other\n%s", version, content, other)
			}
		}
	}
	if compared < 500 {
		t.Errorf("only %d events were seen on both", compared)
	}
	t.Logf("%d events were the same on both", compared)
}

// contents is the view without versions: an object that did not change since a replica was loaded has the version of the load there.
func contents(r *replica) string {
	r.Helper()
	list := r.list()
	for i := range list.Items {
		list.Items[i].ResourceVersion = ""
	}
	data, err := json.Marshal(list.Items)
	if err != nil {
		r.Fatal(err)
	}
	return string(data)
}

// journal is what a watcher saw, by version.
type journal struct {
	*testing.T
	mu   sync.Mutex
	seen map[string]string
}

func newJournal(t *testing.T) *journal { return &journal{T: t, seen: map[string]string{}} }

func (j *journal) follow(r *replica) {
	w := r.watch(r.list().ResourceVersion)
	go func() {
		for event := range w.ResultChan() {
			if event.Type == watch.Error {
				continue
			}
			accessor, err := meta.Accessor(event.Object)
			data, err2 := json.Marshal(event.Object)
			if err != nil || err2 != nil {
				j.Errorf("%v, %v", err, err2)
				return
			}
			j.mu.Lock()
			j.seen[accessor.GetResourceVersion()] = string(event.Type) + string(data)
			j.mu.Unlock()
		}
	}()
}

func (j *journal) take() map[string]string {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := map[string]string{}
	for k, v := range j.seen {
		out[k] = v
	}
	return out
}

// TestEpoch has servers with other parameters and with another derive function start beside one that runs.
func TestEpoch(t *testing.T) {
	h := newHub(t)
	old := h.start()
	uid := h.register("x", 1)
	old.report(uid, "v1")
	old.publish()
	before := old.list().ResourceVersion
	other := parameters
	other.GraceSeconds = 90
	started := h.start(func(c *clusterstatus.Config) { c.Parameters = other })
	// Both derive by the new parameters: what was silent after 30 s is silent after 90 s.
	for range 20 {
		h.wall.Step(3 * time.Second)
		old.publish()
	}
	for _, r := range []*replica{old, started} {
		if phase := r.get("x").Status.Phase; phase != binnacle.ClusterReady {
			t.Errorf("after a minute of silence and a grace period of 90 s: %s", phase)
		}
	}
	if e := next(t, old.watch(before)); e.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(e.Object)) {
		t.Errorf("a version of the old epoch in the new one: %s %v", e.Type, e.Object)
	}

	// A server of a later version takes over, and goes again.
	h.swapDerivation(derive.Version + 1)
	h.eventually("the old server to stop serving the view", func() bool { return apierrors.IsServiceUnavailable(old.engine.Check()) })
	var unavailable apierrors.APIStatus
	if err := old.storage.GetList(t.Context(), "/clusterstatuses", storage.ListOptions{Predicate: everything(), Recursive: true}, &binnacle.ClusterStatusList{}); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("list while another derives: %v", err)
	} else if unavailable = err.(apierrors.APIStatus); unavailable.Status().Details.RetryAfterSeconds == 0 {
		t.Error("no time to try again")
	}
	if err := old.publisher.Publish(t.Context()); err != nil {
		t.Error(err)
	}
	h.swapDerivation(derive.Version)
	h.eventually("the view to be served again", func() bool { return old.engine.Check() == nil })
	if phase := old.get("x").Status.Phase; phase != binnacle.ClusterReady {
		t.Errorf("after the return: %s", phase)
	}
}

// swapDerivation does what a server of another version does at its start.
func (h *hub) swapDerivation(version int32) {
	h.Helper()
	const key = prefix + "binnacle.dev/clusterstatuses/" + pages.HeadKey
	response, err := h.client.Get(h.Context(), key)
	if err != nil || len(response.Kvs) != 1 {
		h.Fatalf("the head: %v", err)
	}
	head, err := pages.DecodeHead(response.Kvs[0].Value)
	if err != nil {
		h.Fatal(err)
	}
	head.Epoch++
	head.Derivation = version
	value, err := pages.Encode(&head)
	if err != nil {
		h.Fatal(err)
	}
	if _, err := h.client.Put(h.Context(), key, string(value)); err != nil {
		h.Fatal(err)
	}
}

// TestBarrier has reads see what was written a moment before: by us, by others into our etcd, and nothing at all.
func TestBarrier(t *testing.T) {
	h := newHub(t)
	r := h.start()
	for i := range 30 {
		revision := h.register("x", i)
		if got := r.get("x"); got.UID != derive.UID(revision) {
			t.Fatalf("read %d is stale", i)
		}
		foreign, err := h.client.Put(t.Context(), "/somebody/else", fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		reached, err := r.engine.Barrier(t.Context())
		if err != nil || reached < foreign.Header.Revision {
			t.Fatalf("reached %d of %d: %v", reached, foreign.Header.Revision, err)
		}
	}
	h.stopEtcd()
	started := time.Now()
	_, err := r.engine.Barrier(t.Context())
	if !apierrors.IsServiceUnavailable(err) {
		t.Errorf("without etcd: %v", err)
	}
	t.Logf("without etcd a consistent read fails after %s", time.Since(started).Round(time.Millisecond))
	// What need not be new can still be read.
	out := &binnacle.ClusterStatus{}
	if err := r.storage.Get(t.Context(), "/clusterstatuses/fleet/x", storage.GetOptions{ResourceVersion: "0"}, out); err != nil || out.Name != "x" {
		t.Errorf("%v, %v", out.Name, err)
	}
}

// TestCompacted has the view stay behind so long that etcd no longer has what it missed.
func TestCompacted(t *testing.T) {
	h := newHub(t)
	r := h.start()
	uid := h.register("x", 1)
	r.report(uid, "v1")
	r.publish()
	w := r.watch(r.list().ResourceVersion)
	r.engine.EndWatch()
	last := int64(0)
	for i := range 5 {
		h.register("y", i)
		response, err := h.client.Get(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		last = response.Header.Revision
	}
	if _, err := h.client.Compact(t.Context(), last, clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
	h.eventually("the view to be whole again", func() bool { return len(r.list().Items) == 2 })
	// The watcher either got what it missed, or is told to list again; never neither.
	for {
		e := next(t, w)
		if e.Type == watch.Error {
			if err := apierrors.FromObject(e.Object); !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
				t.Error(err)
			}
			return
		}
		if accessor, err := meta.Accessor(e.Object); err == nil && accessor.GetName() == "y" {
			return
		}
	}
}
