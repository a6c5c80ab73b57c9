package integration

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/test/framework"
)

// lonelyGrace is the grace period of a server that is taken away for longer.
const lonelyGrace = 4 * time.Second

// lonely is one server with its etcd, each of which the test takes away, and a crowd that reports all the time.
type lonely struct {
	t       *testing.T
	server  *framework.Server
	etcd    *framework.Etcd
	crowd   crowd
	reports *reporters
	witness *witness
}

func newLonely(t *testing.T) *lonely {
	t.Helper()
	l := &lonely{t: t}
	l.etcd, _ = externalEtcd(t)
	l.server = startOn(t, l.etcd, "--cluster-grace-period="+lonelyGrace.String(), "--cluster-mass-silence-percent=100")
	config := adminOf(t, l.server)
	l.crowd = register(t, config, "lonely", 20)
	l.reports = newReporters(t, l.crowd.namespace, config).start(t, l.crowd.names, steady)
	untilAll(t, statusesOf(t, config, l.crowd.namespace), "all to be Ready", inPhase(v1alpha1.ClusterReady))
	l.witness = startWitness(t, config, l.crowd)
	return l
}

// TestNobodyIsBlamedForUs takes the only server away, and its etcd, for a moment and for longer than the grace period. No reader is ever shown
// fewer clusters, nor one Unreachable that only could not be heard; one that falls silent meanwhile is found a grace period afterwards.
func TestNobodyIsBlamedForUs(t *testing.T) {
	t.Parallel() // It mostly waits.
	l := newLonely(t)
	for i, away := range []struct {
		name string
		away func() (back time.Time)
	}{
		{"killed and started at once", l.killed},
		{"killed, and started later", l.startedLater},
		{"paused for longer than the grace period", l.paused},
		{"etcd killed, and started later", l.etcdKilled},
		{"etcd paused for 10 s", l.etcdPaused},
	} {
		dies := l.crowd.names[i]
		if !t.Run(away.name, func(t *testing.T) { l.run(t, dies, away.away) }) {
			break // What follows would fail for the same reason.
		}
	}
	l.reports.stop()
	l.reports.check(t)
	l.witness.stop()
	l.witness.check(t)
	t.Logf("%v reports, %v reads", l.reports.count, l.witness.count)
}

// run takes something away while a cluster dies, and wants that to be found when it is time.
func (l *lonely) run(t *testing.T, dies string, away func() time.Time) {
	l.t = t
	// A second of good behaviour, so that the one that dies was heard just now.
	last := l.reports.taken()[dies]
	within(t, viewPatience, "a report of the one that dies", func() bool { return l.reports.taken()[dies] > last })
	l.reports.mute(true, dies)
	back := away()
	l.everybodyReports(t)
	client := statusesOf(t, adminOf(t, l.server), l.crowd.namespace)
	l.witness.expect(dies)
	var since time.Time
	untilAll(t, client, dies+" to be Unreachable", func(s *v1alpha1.ClusterStatus) bool {
		if s.Name != dies {
			return true
		}
		if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReachable); c != nil {
			since = c.LastTransitionTime.Time
		}
		return s.Status.Phase == v1alpha1.ClusterUnreachable
	})
	// Times of conditions are whole seconds.
	if counted := since.Sub(back.Truncate(time.Second)); counted < lonelyGrace-time.Second {
		t.Errorf("%s is called silent %s after it could be heard again, want a grace period of %s", dies, counted, lonelyGrace)
	}
	l.witness.check(t)
}

// killed kills the server and starts it at once.
func (l *lonely) killed() time.Time {
	l.t.Helper()
	l.do(l.server.Kill())
	l.do(l.server.Start(l.t.Context()))
	return l.reports.lastSent(l.crowd.names[0])
}

// everybodyReports returns once each cluster that is not muted has reported twice.
func (l *lonely) everybodyReports(t *testing.T) {
	t.Helper()
	taken := l.reports.taken()
	within(t, viewPatience, "reports afterwards", func() bool {
		now := l.reports.taken()
		for _, name := range l.crowd.names {
			if !l.reports.isMuted(name) && now[name] < taken[name]+2 {
				return false
			}
		}
		return true
	})
}

// startedLater leaves the server away for longer than the grace period.
func (l *lonely) startedLater() time.Time {
	l.t.Helper()
	l.do(l.server.Kill())
	beyondGrace(l.t)
	back := time.Now()
	l.do(l.server.Start(l.t.Context()))
	return back
}

// paused stops the process for longer than a grace period, and for less than what counts as a while without a publication by default.
func (l *lonely) paused() time.Time {
	l.t.Helper()
	l.do(l.server.Pause())
	beyondGrace(l.t)
	back := time.Now()
	l.do(l.server.Resume())
	return back
}

func (l *lonely) etcdKilled() time.Time {
	l.t.Helper()
	l.do(l.etcd.Kill())
	beyondGrace(l.t)
	l.do(l.etcd.Restart(l.t.Context()))
	return l.reports.lastSent(l.crowd.names[3])
}

func (l *lonely) etcdPaused() time.Time {
	l.t.Helper()
	l.do(l.etcd.Pause())
	<-time.After(10 * time.Second)
	l.do(l.etcd.Resume())
	return l.reports.lastSent(l.crowd.names[4])
}

// beyondGrace lets the grace period pass, and half of it more: this is the time that is tested, and nothing is waited for.
func beyondGrace(t *testing.T) {
	t.Helper()
	select {
	case <-time.After(lonelyGrace * 3 / 2):
	case <-t.Context().Done():
	}
}

func (l *lonely) do(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// TestNothingBeforeTheView starts a server whose etcd stops answering as soon as readyz says that the view is missing, which leaves time to
// see that nothing is served that the server does not know. Where that was too late, it is tried again, once everybody was heard: nobody
// is away for longer than the grace period.
func TestNothingBeforeTheView(t *testing.T) {
	t.Parallel()
	l := newLonely(t)
	register(t, adminOf(t, l.server), "others", 3000) // So that the view takes a moment.
	for try := range 20 {
		if l.caughtWithoutView() {
			t.Logf("caught at start %d", try+1)
			break
		}
		l.everybodyReports(t)
		if try == 19 {
			t.Error("the server was never seen before its view was loaded")
		}
	}
	l.everybodyReports(t)
	l.reports.stop()
	l.reports.check(t)
	l.witness.stop()
	l.witness.check(t)
}

const withoutView = "[-]cluster-status-view failed"

func (l *lonely) caughtWithoutView() (caught bool) {
	l.t.Helper()
	l.do(l.server.Kill())
	ready := make(chan error, 1)
	go func() { ready <- l.server.Start(context.WithoutCancel(l.t.Context())) }()
	for {
		health := l.witness.ask("/readyz")
		if health.code == http.StatusOK {
			break
		}
		if health.code != http.StatusInternalServerError || !strings.Contains(health.text, withoutView) {
			continue
		}
		l.do(l.etcd.Pause())
		list, report := l.witness.ask(l.witness.path), l.reports.send(l.t.Context(), 0, "c9", steady(9, 0))
		// If it is still missing, it was missing all the time.
		caught = strings.Contains(l.witness.ask("/readyz").text, withoutView)
		for what, a := range map[string]answered{"a list": list, "a report": report} {
			if caught && (a.code != http.StatusServiceUnavailable || a.retry == "") {
				l.t.Errorf("before the view is loaded, %s is %d, Retry-After %q", what, a.code, a.retry)
			}
		}
		l.do(l.etcd.Resume())
		break
	}
	l.do(<-ready)
	return caught
}
