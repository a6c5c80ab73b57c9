package integration

import (
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/test/framework"
)

// publishEvery is the publishing interval of TestReportsThroughHub.
const publishEvery = time.Second

// TestReportsThroughHub lets clusters report through a hub to two replicas: what that writes, and what it takes to restart everything.
func TestReportsThroughHub(t *testing.T) {
	own := startOwnHub(t, framework.HubOptions{}, 2,
		"--cluster-report-publish-interval="+publishEvery.String(), "--cluster-grace-period=60s", "--cluster-mass-silence-percent=100",
		// As in artifacts: long enough for the endpoint to be taken out before the server stops accepting.
		"--shutdown-delay-duration=4s", "--disable-http2-serving")
	t.Run("no write per heartbeat", func(t *testing.T) { testHeartbeatsAreNotWritten(t, own) })
	defer own.keepEndpoints(t)()
	c := register(t, own.AdminConfig(), own.namespace(t, "restarts"), 100)
	t.Run("rolling restart", func(t *testing.T) { testRollingRestartUnderReports(t, own, c) })
	t.Run("the hub's API server restarts", func(t *testing.T) { testHubRestartsUnderReports(t, own, c) })
}

// counter counts what is written to an etcd.
type counter struct {
	t      *testing.T
	client *clientv3.Client
	from   int64
	at     time.Time
}

func countWrites(t *testing.T, client *clientv3.Client) counter {
	t.Helper()
	c := counter{t: t, client: client}
	c.from, c.at = c.revision(), time.Now()
	return c
}

func (c counter) revision() int64 {
	c.t.Helper()
	resp, err := c.client.Get(c.t.Context(), "any", clientv3.WithCountOnly())
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.Header.Revision
}

// soFar returns how many transactions there were, and how many keys they wrote.
func (c counter) soFar() (transactions, keys int) {
	c.t.Helper()
	to := c.revision()
	if to == c.from {
		return 0, 0
	}
	for response := range c.client.Watch(c.t.Context(), "", clientv3.WithPrefix(), clientv3.WithRev(c.from+1)) {
		if err := response.Err(); err != nil {
			c.t.Fatal(err)
		}
		for _, e := range response.Events {
			keys++
			if e.Kv.ModRevision >= to {
				// A response has all events of a revision.
				return int(to - c.from), keys
			}
		}
	}
	return int(to - c.from), keys
}

func hubEtcd(t *testing.T, own ownHub) *clientv3.Client {
	t.Helper()
	config, err := rest.TLSConfigFor(own.Etcd.Config())
	if err != nil {
		t.Fatal(err)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{own.Etcd.URL}, TLS: config})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func testHeartbeatsAreNotWritten(t *testing.T, own ownHub) {
	const clusters, heartbeats = 300, 18
	c := register(t, own.AdminConfig(), own.namespace(t, "heartbeats"), clusters)
	onHub := hubEtcd(t, own)

	idle := countWrites(t, onHub)
	<-time.After(10 * time.Second) // This is the time that is measured.
	idleWrites, _ := idle.soFar()
	perSecond := float64(idleWrites) / time.Since(idle.at).Seconds()

	r := newReporters(t, c.namespace, own.AdminConfig()).start(t, c.names, steady)
	client := statusesOf(t, own.AdminConfig(), c.namespace)
	untilAll(t, client, "all to be Ready", inPhase(v1alpha1.ClusterReady))
	profiles := profileVersions(t, c)
	before := map[string]*v1alpha1.ClusterStatus{}
	v := startViewer(t, client)
	for name, s := range v.known() {
		before[name] = s
	}
	first, theirs, mine := r.taken(), countWrites(t, onHub), countWrites(t, own.stored)
	within(t, 2*viewPatience, "heartbeats", func() bool {
		for name, n := range r.taken() {
			if n < first[name]+heartbeats {
				return false
			}
		}
		return true
	})
	ofHub, _ := theirs.soFar()
	ofOurs, keys := mine.soFar()
	took := time.Since(theirs.at)
	r.stop()
	counts := r.check(t)
	t.Logf("%d heartbeats in %s: the hub's etcd had %d writes (%.1f/s when idle), ours %d transactions of %d keys; answers %v",
		clusters*heartbeats, took.Round(time.Second), ofHub, perSecond, ofOurs, keys, counts)
	if allowed := 1.5*perSecond*took.Seconds() + 15; float64(ofHub) > allowed {
		t.Errorf("%d writes to the hub's etcd in %s, want the %.0f that there would be anyway", ofHub, took, allowed)
	}
	publications := 2 * (int(took/publishEvery) + 2)
	if ofOurs > publications || keys > 3*publications {
		t.Errorf("%d transactions of %d keys, want at most %d publications of a few keys each", ofOurs, keys, publications)
	}
	wantOnlyTimes(t, v, before, took)
	if after := profileVersions(t, c); len(after) != clusters {
		t.Errorf("%d profiles", len(after))
	} else {
		for name, version := range after {
			if version != profiles[name] {
				t.Errorf("the profile of %s moved from version %s to %s", name, profiles[name], version)
			}
		}
	}
}

// wantOnlyTimes wants a watcher to have seen nothing but that the coarse times went on, each at most once in a grain.
func wantOnlyTimes(t *testing.T, v *viewer, before map[string]*v1alpha1.ClusterStatus, took time.Duration) {
	t.Helper()
	v.check(t)
	seen := map[string]int{}
	for _, s := range v.seen() {
		was, is := before[s.status.Name].DeepCopy(), s.status.DeepCopy()
		was.ResourceVersion, is.ResourceVersion = "", ""
		was.Status.LastReportTime, is.Status.LastReportTime = nil, nil
		if !sameStatus(was, is) {
			t.Errorf("an event of heartbeats that said the same: %+v, before %+v", is.Status, was.Status)
		}
		seen[s.status.Name]++
		if float64(seen[s.status.Name]) > 1+took.Minutes()/5 {
			t.Errorf("%s had %d events in %s", s.status.Name, seen[s.status.Name], took)
		}
	}
	t.Logf("%d events of %d clusters", len(v.seen()), len(before))
}

func profileVersions(t *testing.T, c crowd) map[string]string {
	t.Helper()
	list, err := profilesOf(t, c.config, c.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, p := range list.Items {
		versions[p.Name] = p.ResourceVersion
	}
	return versions
}

// testRollingRestartUnderReports restarts both replicas in turn (cases.md, 46).
func testRollingRestartUnderReports(t *testing.T, own ownHub, c crowd) {
	r := newReporters(t, c.namespace, own.AdminConfig()).start(t, c.names, numbered)
	client := statusesOf(t, own.AdminConfig(), c.namespace)
	untilAll(t, client, "all to be Ready", inPhase(v1alpha1.ClusterReady))
	v := startViewer(t, client)
	begin := v.known()
	for i, replica := range own.replicas {
		if err := replica.Stop(); err != nil {
			t.Errorf("replica %d: %v", i, err)
		}
		if err := replica.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		untilHeard(t, c, r)
	}
	r.stop()
	t.Logf("%v reports, %d watches", r.check(t), v.resumed)
	wantNoTransition(t, v, begin, r.taken())
}

// testHubRestartsUnderReports kills the hub's API server, without which nobody can report, and starts it again within the grace period.
func testHubRestartsUnderReports(t *testing.T, own ownHub, c crowd) {
	r := newReporters(t, c.namespace, own.AdminConfig()).start(t, c.names, numbered)
	client := statusesOf(t, own.AdminConfig(), c.namespace)
	untilHeard(t, c, r)
	untilAll(t, client, "all to be Ready", inPhase(v1alpha1.ClusterReady))
	v := startViewer(t, client)
	begin := v.known()
	if err := own.APIServer.Kill(); err != nil {
		t.Fatal(err)
	}
	away := time.Now()
	if err := own.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	untilHeard(t, c, r)
	r.stop()
	// Some answers of a hub that is starting are its own.
	t.Logf("%v reports; the hub was away for less than %s", r.count, time.Since(away).Round(time.Second))
	wantNoTransition(t, v, begin, r.taken())
}

// untilHeard waits until each cluster has reported twice from now on.
func untilHeard(t *testing.T, c crowd, r *reporters) {
	t.Helper()
	before := r.taken()
	within(t, viewPatience, "reports of all", func() bool {
		now := r.taken()
		for _, name := range c.names {
			if now[name] < before[name]+2 {
				return false
			}
		}
		return true
	})
}

// wantNoTransition wants all that a viewer saw, up to the last reports, to be Ready since before it began.
func wantNoTransition(t *testing.T, v *viewer, begin map[string]*v1alpha1.ClusterStatus, last map[string]int) {
	t.Helper()
	within(t, viewPatience, "the last reports to be seen", func() bool {
		for name, s := range v.known() {
			if numberIn(s) < last[name] {
				return false
			}
		}
		return true
	})
	v.check(t)
	for _, s := range v.seen() {
		name := s.status.Name
		if s.status.Status.Phase != v1alpha1.ClusterReady {
			t.Errorf("%s was %s", name, s.status.Status.Phase)
		}
		for _, condition := range begin[name].Status.Conditions {
			now := meta.FindStatusCondition(s.status.Status.Conditions, condition.Type)
			if now == nil || !now.LastTransitionTime.Equal(&condition.LastTransitionTime) {
				t.Errorf("%s: %s went from %v to %v", name, condition.Type, condition, now)
			}
		}
	}
	if len(v.seen()) < len(begin) {
		t.Errorf("only %d events", len(v.seen()))
	}
}
