package integration

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	binnacleapi "github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/test/framework"
)

// soakLateness is how late a step may be that is due while the server is up (cases.md, 24).
const soakLateness = 2 * time.Second

// soaking is a Rollout of which one cluster at a time comes in, and the next once it succeeded and that is some time ago.
type soaking struct {
	decider
	server *framework.Server
	name   string
}

func (s soaking) status() *v1alpha1.RolloutStatus { return &s.get(s.name).Status }

// unsettled is the one cluster that came in and has no outcome.
func (s soaking) unsettled() string {
	s.t.Helper()
	var found []string
	status := s.status()
	for _, c := range status.Clusters {
		if c.State == v1alpha1.ClusterIn && c.History[len(c.History)-1] > status.BaseRevision {
			found = append(found, c.Name)
		}
	}
	if len(found) != 1 {
		s.t.Fatalf("%v came in, and it is to be one at a time", found)
	}
	return found[0]
}

// succeed lets the cluster of the step succeed, and returns when the soak that begins with it ends.
func (s soaking) succeed(soak time.Duration) time.Time {
	s.t.Helper()
	before := s.status()
	if before.Step.Soak != nil {
		s.t.Errorf("it soaks before the cluster succeeded: %+v", before.Step.Soak)
	}
	sent := time.Now()
	if _, err := s.report(s.name, s.unsettled(), before.Revision, v1alpha1.OutcomeSucceeded); err != nil {
		s.t.Fatal(err)
	}
	answered, timer := time.Now(), s.status().Step.Soak
	// Whole seconds, rounded up.
	if timer == nil || timer.EndTime == nil || timer.EndTime.Before(&metav1.Time{Time: sent.Add(soak)}) || timer.EndTime.Sub(answered) > soak+time.Second {
		s.t.Fatalf("the soak of %s from %s is %+v", soak, sent, timer)
	}
	return timer.EndTime.Time
}

// restart kills the server and returns when it is up again, and how long that took.
func (s soaking) restart() time.Duration {
	s.t.Helper()
	began := time.Now()
	if err := s.server.Kill(); err != nil {
		s.t.Fatal(err)
	}
	if err := s.server.Start(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	return time.Since(began)
}

// wantNext waits for what follows a soak, and wants it not to come early, nor late unless the server was not up by then. A step brings one
// cluster.
func (s soaking) wantNext(verb string, end time.Time) {
	s.t.Helper()
	before, up := s.status(), time.Now()
	if step := before.Step; up.Before(end) && (step.Soak == nil || !step.Soak.EndTime.Time.Equal(end)) {
		s.t.Fatalf("the soak was to end at %s, and is %+v", end, step.Soak)
	}
	var after *v1alpha1.RolloutStatus
	within(s.t, viewPatience, verb, func() bool {
		after = s.status()
		return after.Transitions[len(after.Transitions)-1].Verb == verb && (verb != "step" || after.Step.Index > before.Step.Index || up.After(end))
	})
	if seen, due := time.Now(), end.Add(soakLateness); up.Before(end) && seen.After(due) {
		s.t.Errorf("%s was due at %s, was up %s before, and was late by %s", verb, end, end.Sub(up), seen.Sub(end))
	}
	if last := after.Transitions[len(after.Transitions)-1]; last.Time.Time.Before(end) {
		s.t.Errorf("%s at %s, and the soak was to end at %s", verb, last.Time, end)
	}
	if n, m := len(through(before)), len(through(after)); m > n+1 {
		s.t.Errorf("%d were through, and %d are", n, m)
	}
}

// TestRestartInASoak kills the only server in the middle of soaks: when a soak has long to go, and when it is over soon after the server is back,
// while the lease of its predecessor is not. Nothing is skipped, begins anew or comes late, also in a second run on the same object.
func TestRestartInASoak(t *testing.T) {
	t.Parallel()
	const soak = 5 * time.Second
	server := startStandalone(t, framework.ServerOptions{})
	s := soaking{newDecider(t, adminOf(t, server), "soak"), server, "app"}
	s.clusters(4)
	plan := s.automatic(s.name, soak, 25, 50, 75, 100)
	for i := range plan.Spec.Steps {
		plan.Spec.Steps[i].Gate.Success = true
	}
	plan.Spec.Steps[3].Gate.Soak = nil
	s.create(plan)
	s.must(s.name, binnacleapi.VerbAdvance)
	// nearEnd restarts the server so that it is back with about as much of the soak to go.
	took := time.Duration(0)
	nearEnd := func(left time.Duration) {
		end := s.succeed(soak)
		within(t, soak+time.Second, "the end to be near", func() bool { return time.Until(end) < took+left })
		took = s.restart()
		t.Logf("up after %s, %s before the end", took.Round(10*time.Millisecond), time.Until(end).Round(10*time.Millisecond))
		s.wantNext("step", end)
	}
	nearEnd(soak + time.Second)
	nearEnd(500 * time.Millisecond)
	nearEnd(1500 * time.Millisecond)
	if _, err := s.report(s.name, s.unsettled(), s.status().Revision, v1alpha1.OutcomeSucceeded); err != nil {
		t.Fatal(err)
	}
	if first := s.status(); first.Phase != v1alpha1.RolloutCompleted || !slices.Equal(verbsOf(first), []string{"advance", "step", "step", "step", "complete"}) {
		t.Errorf("the first run is %s after %v", first.Phase, verbsOf(first))
	}

	s.must(s.name, binnacleapi.VerbRollback, v1alpha1.RolloutActionSpec{ToRevision: ptr.To[int64](2)})
	s.must(s.name, binnacleapi.VerbRetry)
	nearEnd(soak + time.Second)
	if second := s.status(); len(through(second)) != 4 || second.Phase != v1alpha1.RolloutProgressing {
		t.Errorf("the second run is %s with %v", second.Phase, through(second))
	}
}
