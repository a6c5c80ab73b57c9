package integration

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha2"
	"github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned"
	"github.com/binnacle-dev/binnacle/test/framework"
)

const (
	// toldWithin is how late a watcher may be told on a machine that has other things to do. On one that has not it is a tenth of that.
	toldWithin = 10 * time.Second
	// watchersMemory bounds what a server takes in these tests.
	watchersMemory = 1 << 30
)

// TestSlowReaderEndsAlone has a thousand watchers and one that reads nothing. The thousand are told each change, once; the one is ended.
func TestSlowReaderEndsAlone(t *testing.T) {
	servers, _, _ := startShared(t, 1, "--cluster-grace-period=300s", "--cluster-status-history-events=1000")
	s, config := servers[0], adminOf(t, servers[0])
	metrics := newCaller(t, config, ours, "", "")
	c := register(t, config, "watched", 61)
	r := newReporters(t, c.namespace, config)
	for i, name := range c.names {
		spec := bulky(0)
		if i == 0 {
			spec = numbered(0, 0) // It is what the thousand look at.
		}
		if a := r.send(t.Context(), 0, name, spec); a.code != 201 {
			t.Fatal(a)
		}
	}
	untilAll(t, statusesOf(t, config, c.namespace), "all to be Ready", inPhase(v1alpha1.ClusterReady))
	calm := goroutines(t, metrics)

	slow := silentReader(t, config, c.namespace)
	l := startListeners(t, config, c.namespace, "&fieldSelector=metadata.name%3Dc0", 1000)
	var late []time.Duration
	toggle := newBulk(t, s, c)
	for number := 1; number <= 10; number++ {
		within(t, viewPatience, "the next report to be taken", func() bool { return r.send(t.Context(), 0, "c0", numbered(0, number)).code == 201 })
		sent := r.lastSent("c0")
		for range 5 {
			toggle()
		}
		late = append(late, l.allTold(t, "c0", number, sent)...)
	}
	for i := 0; sampleOf(t, s, "binnacle_view_watchers_ended_total") < 1; i++ {
		if i == 200 {
			t.Fatal("the reader that reads nothing is not ended, 12,000 events and 120 MB behind")
		}
		toggle()
	}
	wantInTime(t, late)
	wantMemory(t, s)
	// When it reads again, it is told why it was ended.
	if err := slow.NetConn().(*net.TCPConn).SetReadBuffer(4 << 20); err != nil {
		t.Fatal(err)
	}
	_ = slow.SetReadDeadline(time.Now().Add(viewPatience))
	if text, err := io.ReadAll(slow); err != nil || !bytes.Contains(text[max(0, len(text)-1000):], []byte(`"code":410`)) {
		t.Errorf("the reader that read nothing: %d bytes, %v, and in the end %s", len(text), err, text[max(0, len(text)-500):])
	}
	if ended := sampleOf(t, s, "binnacle_view_watchers_ended_total"); ended != 1 {
		t.Errorf("%v watchers were ended, want the slow one", ended)
	}
	l.mu.Lock()
	for i, opens := range l.opens {
		if opens != 1 || len(l.told[i]) != 11 {
			t.Errorf("listener %d: %d watches, %d numbers", i, opens, len(l.told[i]))
		}
	}
	if len(l.wrong) > 0 {
		t.Error(l.wrong[0])
	}
	l.mu.Unlock()
	l.stop()
	within(t, viewPatience, "what served the watches to be gone", func() bool { return goroutines(t, metrics) < calm+100 })
}

// newBulk returns what makes an event of about 11 KB of each cluster but the first.
func newBulk(t *testing.T, s *framework.Server, c crowd) func() {
	t.Helper()
	decisions := versioned.NewForConfigOrDie(adminOf(t, s)).MulticlusterV1alpha2().PlacementDecisions(c.namespace)
	decision := &v1alpha2.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Name: "all"}, Decisions: []v1alpha2.ClusterDecision{}}
	for _, name := range c.names[1:] {
		decision.Decisions = append(decision.Decisions, v1alpha2.ClusterDecision{ClusterProfileRef: v1alpha2.ClusterProfileReference{Name: ptr.To(name)}})
	}
	chosen := false
	return func() {
		t.Helper()
		var err error
		if chosen {
			err = decisions.Delete(t.Context(), "all", metav1.DeleteOptions{})
		} else {
			_, err = decisions.Create(t.Context(), decision, metav1.CreateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
		chosen = !chosen
	}
}

// wantInTime wants all to be told in time, and logs how late they were.
func wantInTime(t *testing.T, late []time.Duration) {
	t.Helper()
	slices.Sort(late)
	t.Logf("%d times told: half within %s, 99 of 100 within %s, all within %s after the report was sent", len(late),
		late[len(late)/2].Round(time.Millisecond), late[len(late)*99/100].Round(time.Millisecond), late[len(late)-1].Round(time.Millisecond))
	if last := late[len(late)-1]; last > toldWithin {
		t.Errorf("a watcher was told %s after a report, want at most %s", last, toldWithin)
	}
}

func wantMemory(t *testing.T, s *framework.Server) {
	t.Helper()
	rss, err := s.RSS()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d MiB resident", rss>>20)
	if rss > watchersMemory {
		t.Errorf("%d MiB resident, want at most %d", rss>>20, watchersMemory>>20)
	}
}

// TestLargeReportsAndManyWatchers has 200 clusters that send 10 KB each time, of which every tenth is new, 95 watchers that read all and 5
// that read nothing, and kills the server in the middle (cases.md, 49, in small).
func TestLargeReportsAndManyWatchers(t *testing.T) {
	servers, _, stored := startShared(t, 1, "--cluster-grace-period=60s", "--cluster-report-publish-interval=1s", "--cluster-mass-silence-percent=100")
	s, config := servers[0], adminOf(t, servers[0])
	c := register(t, config, "large", 200)
	r := newReporters(t, c.namespace, config).start(t, c.names, func(cluster, n int) string { return bulky((n + cluster) / 10) })
	untilAll(t, statusesOf(t, config, c.namespace), "all to be Ready", inPhase(v1alpha1.ClusterReady))
	for range 5 {
		silentReader(t, config, c.namespace)
	}
	l := startListeners(t, config, c.namespace, "", 95)
	writes := countWrites(t, stored)
	late := l.watchSome(t, r, c)
	transactions, _ := writes.soFar()
	if publications := int(time.Since(writes.at)/time.Second) + 3; transactions > publications {
		t.Errorf("%d transactions in %s, want at most the %d publications", transactions, time.Since(writes.at), publications)
	}
	wantMemory(t, s)

	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	untilHeard(t, c, r)
	back := time.Since(started)
	t.Logf("all clusters had reported twice %s after the start", back.Round(100*time.Millisecond))
	if back > 30*time.Second {
		t.Errorf("the clusters needed %s to come back", back)
	}
	// All of them read everything again first, which is not what is measured.
	l.watchSome(t, r, crowd{names: c.names[:1]})
	late = append(late, l.watchSome(t, r, c)...)
	wantInTime(t, late)
	wantMemory(t, s)
	r.stop()
	r.check(t)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.wrong) > 0 {
		t.Error(l.wrong[0])
	}
	for i, opens := range l.opens {
		if opens > 3 {
			t.Errorf("listener %d opened %d watches", i, opens)
		}
	}
}

// watchSome takes the next new reports of some clusters, and returns how late each listener was told of them.
func (l *listeners) watchSome(t *testing.T, r *reporters, c crowd) (late []time.Duration) {
	t.Helper()
	begin := r.taken()
	for i := 0; i < len(c.names); i += 20 {
		name := c.names[i]
		number, sent := (begin[name]+i)/10+1, time.Time{}
		within(t, viewPatience, fmt.Sprint("number ", number, " of ", name), func() bool {
			n := r.taken()[name]
			sent = r.lastSent(name)
			return (n+i)/10 >= number
		})
		late = append(late, l.allTold(t, name, number, sent)...)
	}
	return late
}
