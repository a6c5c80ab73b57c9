package integration

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	binnaclev1alpha1 "github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned/typed/binnacle/v1alpha1"
)

// silentFor is the grace period of these tests: some beats, and room for a machine that stands still for a moment.
const silentFor = 6 * time.Second

// TestSilence takes reports away, and wants the view of both replicas to say so when it is time, and not before.
func TestSilence(t *testing.T) {
	t.Parallel() // It mostly waits.
	servers, _, _ := startShared(t, 2, "--cluster-grace-period="+silentFor.String(), "--cluster-mass-silence-percent=100")
	t.Run("side by side", func(t *testing.T) {
		for namespace, test := range map[string]func(*testing.T, crowd, *reporters, []binnaclev1alpha1.ClusterStatusInterface){
			"one-stops": testOneStops, "lost-reports": testLostReport, "flapping": testFlapping, "registered-anew": testRegisteredAnew,
		} {
			t.Run(namespace, func(t *testing.T) {
				t.Parallel()
				c := register(t, adminOf(t, servers[0]), namespace, 6)
				test(t, c, newReporters(t, c.namespace, adminOf(t, servers[0]), adminOf(t, servers[1])), c.at(t, servers))
			})
		}
	})
	t.Run("nobody-reports", func(t *testing.T) {
		// Those of the others have stopped too: from now on nothing is written unless a replica does by itself.
		c := register(t, adminOf(t, servers[0]), "nobody", 3)
		r := newReporters(t, c.namespace, adminOf(t, servers[0])).start(t, c.names, steady)
		clients := c.at(t, servers)
		untilAll(t, clients[1], "all to be Ready", inPhase(v1alpha1.ClusterReady))
		r.stop()
		viewers := viewersOf(t, clients)
		for _, name := range c.names {
			for _, v := range viewers {
				v.await(t, name, "Unreachable", 0, inPhase(v1alpha1.ClusterUnreachable))
			}
		}
	})
}

// viewersOf starts a viewer at each replica alone.
func viewersOf(t *testing.T, clients []binnaclev1alpha1.ClusterStatusInterface) (viewers []*viewer) {
	t.Helper()
	for _, client := range clients {
		viewers = append(viewers, startViewer(t, client))
	}
	return viewers
}

// wantSame fails unless all viewers have seen the same events up to the end of the one that has seen least.
func wantSame(t *testing.T, viewers []*viewer) {
	t.Helper()
	from := uint64(0) // Before it, not all of them watched.
	for _, v := range viewers {
		from = max(from, v.from)
	}
	after := func(v *viewer) []sighting {
		return slices.DeleteFunc(slices.Clone(v.seen()), func(s sighting) bool { return s.version <= from })
	}
	first := after(viewers[0])
	for _, v := range viewers {
		v.check(t)
		for i, s := range after(v) {
			if i < len(first) && (s.version != first[i].version || s.kind != first[i].kind || !sameStatus(s.status, first[i].status)) {
				t.Fatalf("event %d is %s %v at one replica and %s %v at the other", i, first[i].kind, first[i].status, s.kind, s.status)
			}
		}
	}
}

func testOneStops(t *testing.T, c crowd, r *reporters, clients []binnaclev1alpha1.ClusterStatusInterface) {
	r.start(t, c.names, numbered)
	untilAll(t, clients[0], "all to be Ready", inPhase(v1alpha1.ClusterReady))
	viewers := viewersOf(t, clients)
	r.mute(true, "c0")
	for _, v := range viewers {
		gone := v.await(t, "c0", "Unreachable", 0, inPhase(v1alpha1.ClusterUnreachable))
		after := gone.at.Sub(r.lastSent("c0"))
		t.Logf("Unreachable %s after the last report was sent", after.Round(time.Millisecond))
		if after < silentFor || after > silentFor+15*time.Second {
			t.Errorf("Unreachable %s after the last report, want %s and a publication", after, silentFor)
		}
		reachable := meta.FindStatusCondition(gone.status.Status.Conditions, v1alpha1.ConditionReachable)
		if reachable == nil || reachable.Status != metav1.ConditionFalse || reachable.Reason != v1alpha1.ReasonReportsStopped {
			t.Errorf("Reachable of a silent cluster is %v", reachable)
		}
		if ready := meta.FindStatusCondition(gone.status.Status.Conditions, v1alpha1.ConditionReady); ready == nil || ready.Status != metav1.ConditionUnknown {
			t.Errorf("Ready of a silent cluster is %v", ready)
		}
	}

	// One report is a sign of life, and no return.
	before := len(viewers[0].seen())
	if a := r.send(t.Context(), 0, "c0", numbered(0, 1000)); a.code != 201 {
		t.Fatal(a)
	}
	shown := viewers[0].await(t, "c0", "shown with its new report", before, func(s *v1alpha1.ClusterStatus) bool { return numberIn(s) == 1000 })
	if shown.status.Status.Phase != v1alpha1.ClusterUnreachable {
		t.Errorf("after one report it is %s", shown.status.Status.Phase)
	}
	// When the next comes much later, it is again a first one.
	within(t, viewPatience, "the grace period to pass", func() bool { return time.Since(r.lastSent("c0")) > silentFor+time.Second })
	if a := r.send(t.Context(), 1, "c0", numbered(0, 1001)); a.code != 201 {
		t.Fatal(a)
	}
	shown = viewers[0].await(t, "c0", "shown with its new report", before, func(s *v1alpha1.ClusterStatus) bool { return numberIn(s) == 1001 })
	if shown.status.Status.Phase != v1alpha1.ClusterUnreachable {
		t.Errorf("after one report, a grace period after another, it is %s", shown.status.Status.Phase)
	}
	r.mute(false, "c0")
	for _, v := range viewers {
		v.await(t, "c0", "Ready again", before, inPhase(v1alpha1.ClusterReady))
	}
	for _, name := range c.names[1:] {
		if phases := viewers[0].phases(name); len(phases) > 1 {
			t.Errorf("%s, which reported all the time, was %v", name, phases)
		}
	}
	r.stop()
	r.check(t)
	wantSame(t, viewers)
}

func testLostReport(t *testing.T, c crowd, r *reporters, clients []binnaclev1alpha1.ClusterStatusInterface) {
	viewers := viewersOf(t, clients)
	r.start(t, c.names, func(cluster, n int) string {
		if n > 2 && (n-cluster)%5 < 2 { // two in a row of each five
			return ""
		}
		return numbered(cluster, n)
	})
	within(t, viewPatience, "20 beats", func() bool { return r.taken()["c0"] >= 20 })
	r.stop()
	r.check(t)
	for _, name := range c.names {
		if phases := viewers[1].phases(name); !slices.Equal(phases, []v1alpha1.ClusterPhase{v1alpha1.ClusterReady}) {
			t.Errorf("%s lost no more than two reports in a row and was %v", name, phases)
		}
	}
	wantSame(t, viewers)
}

// testFlapping drops every third report, and lets one in six say that the cluster is ill: neither is worth a transition.
func testFlapping(t *testing.T, c crowd, r *reporters, clients []binnaclev1alpha1.ClusterStatusInterface) {
	viewers := viewersOf(t, clients)
	r.start(t, c.names, func(cluster, n int) string {
		if (n+cluster)%3 == 2 {
			return ""
		}
		status := "True"
		if n > 3 && (n+cluster)%6 == 1 {
			status = "False"
		}
		return `"conditions":[{"type":"ControlPlaneHealthy","status":"` + status + `"}]`
	})
	within(t, 3*viewPatience, "60 beats", func() bool { return r.taken()["c0"] >= 60 })
	r.stop()
	r.check(t)
	for _, name := range c.names {
		since := map[string]metav1.Time{}
		for _, s := range viewers[0].seen() {
			if s.status.Name != name {
				continue
			}
			if s.status.Status.Phase != v1alpha1.ClusterReady {
				t.Errorf("%s: an event with the phase %s", name, s.status.Status.Phase)
			}
			for _, condition := range s.status.Status.Conditions {
				if before, known := since[condition.Type]; known && !before.Equal(&condition.LastTransitionTime) {
					t.Errorf("%s: a transition of %s at %s", name, condition.Type, condition.LastTransitionTime)
				}
				since[condition.Type] = condition.LastTransitionTime
			}
		}
		if len(since) != 3 {
			t.Errorf("%s: events with the conditions %v, want three", name, since)
		}
	}
	wantSame(t, viewers)
}
