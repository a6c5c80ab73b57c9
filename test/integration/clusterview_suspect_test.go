package integration

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/test/framework"
)

// TestMassSilence lets first so many clusters fall silent as the share allows, and then one more.
func TestMassSilence(t *testing.T) {
	t.Parallel() // It mostly waits.
	servers, _, _ := startShared(t, 2, "--cluster-grace-period="+silentFor.String(), "--cluster-mass-silence-percent=30")
	c := register(t, adminOf(t, servers[0]), "mass", 12)
	// Two have never reported, and count for nothing.
	reporting := c.names[:10]
	r := newReporters(t, c.namespace, adminOf(t, servers[0]), adminOf(t, servers[1])).start(t, reporting, steady)
	clients := c.at(t, servers)
	viewers := viewersOf(t, clients)
	for _, name := range reporting {
		viewers[0].await(t, name, "Ready", 0, inPhase(v1alpha1.ClusterReady))
	}

	r.mute(true, reporting[:3]...)
	untilSilent(t, viewers, reporting[:3])
	wantSuspect(t, servers, viewers, nil)

	r.mute(true, reporting[3])
	untilSilent(t, viewers, reporting[:4])
	wantSuspect(t, servers, viewers, reporting[:4])

	r.mute(false, reporting[1])
	wantSuspect(t, servers, viewers, nil)
	untilSilent(t, viewers, []string{"c0", "c2", "c3"})

	r.mute(false, reporting[:4]...)
	untilSilent(t, viewers, nil)
	wantSuspect(t, servers, viewers, nil)
	r.stop()
	r.check(t)
	wantSame(t, viewers)
}

// untilSilent waits until exactly these clusters of those that ever reported are Unreachable, for every viewer.
func untilSilent(t *testing.T, viewers []*viewer, names []string) {
	t.Helper()
	for i, v := range viewers {
		within(t, viewPatience, fmt.Sprint(names, " to be Unreachable at replica ", i), func() bool {
			silent := map[string]bool{}
			for name, s := range v.known() {
				if s.Status.Phase == v1alpha1.ClusterUnreachable {
					silent[name] = true
				}
			}
			for _, name := range names {
				if !silent[name] {
					return false
				}
			}
			return len(silent) == len(names)
		})
	}
}

// wantSuspect waits until exactly these clusters say that the hub is suspect, and the metric of each replica says whether it is.
func wantSuspect(t *testing.T, servers []*framework.Server, viewers []*viewer, names []string) {
	t.Helper()
	var found []string
	matches := func(v *viewer) bool {
		found = nil
		for name, s := range v.known() {
			if meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionHubSuspect) != nil {
				found = append(found, name)
			}
		}
		for _, name := range names {
			s := v.known()[name]
			condition := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionHubSuspect)
			if condition == nil || condition.Status != metav1.ConditionTrue || condition.Reason != v1alpha1.ReasonMassSilence {
				return false
			}
		}
		return len(found) == len(names)
	}
	for i, v := range viewers {
		within(t, viewPatience, fmt.Sprintf("HubSuspect at %d clusters of replica %d (%v)", len(names), i, &found), func() bool { return matches(v) })
		want := 0
		if len(names) > 0 {
			want = 1
		}
		s := servers[i]
		within(t, viewPatience, fmt.Sprint("binnacle_hub_suspect to be ", want), func() bool { return sampleOf(t, s, "binnacle_hub_suspect") == float64(want) })
	}
}
