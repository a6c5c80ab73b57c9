package integration

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/utils/ptr"

	binnacleapi "github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	multiclusterv1alpha1 "github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
)

// automatic is a plan whose steps follow each other after a soak.
func (d decider) automatic(name string, soak time.Duration, percents ...int32) *v1alpha1.Rollout {
	plan := d.plan(name, percents...)
	plan.Spec.Progression = v1alpha1.ProgressionAutomatic
	for i := range plan.Spec.Steps {
		plan.Spec.Steps[i].Gate = &v1alpha1.RolloutGate{Soak: &metav1.Duration{Duration: soak}}
	}
	return plan
}

func verbsOf(status *v1alpha1.RolloutStatus) (verbs []string) {
	for _, t := range status.Transitions {
		verbs = append(verbs, t.Verb)
	}
	return verbs
}

// TestAutomaticRollouts lets several rollouts go on by themselves on two replicas, one of which is killed in the middle. Each step is taken once,
// not before its soak is over, and published.
func TestAutomaticRollouts(t *testing.T) {
	t.Parallel()
	servers, _, _ := startShared(t, 2)
	d := newDecider(t, adminOf(t, servers[1]), "automatic")
	d.clusters(20)
	const soak = 2 * time.Second
	names := []string{"a", "b", "c"}
	for _, name := range names {
		d.create(d.automatic(name, soak, 10, 25, 75, 100))
		d.must(name, binnacleapi.VerbAdvance)
	}
	within(t, viewPatience, "the second step of the first", func() bool { return d.get("a").Status.Step.Index >= 1 })
	if err := servers[0].Kill(); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		within(t, viewPatience, name+" to be complete", func() bool { return d.get(name).Status.Phase == v1alpha1.RolloutCompleted })
		status := d.get(name).Status
		if verbs := verbsOf(&status); !slices.Equal(verbs, []string{"advance", "step", "step", "step", "complete"}) || status.Revision != 4 {
			t.Errorf("%s: %v, revision %d", name, verbs, status.Revision)
		}
		for i, transition := range status.Transitions[1:] {
			if waited := transition.Time.Sub(status.Transitions[i].Time.Time); waited < soak {
				t.Errorf("%s: %s after %s", name, transition.Verb, waited)
			}
		}
		within(t, viewPatience, "the slices of "+name, func() bool { return len(published(d.slices(name))) == 20 })
		d.wantPublished(name)
	}
}

// TestPauseHoldsAutomaticSteps pauses a rollout before its soak is over, and wants what was left of it to be waited for afterwards.
func TestPauseHoldsAutomaticSteps(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d decider) {
		d.clusters(4)
		d.create(d.automatic("app", 3*time.Second, 50, 100))
		d.must("app", binnacleapi.VerbAdvance)
		d.must("app", binnacleapi.VerbPause)
		paused := d.get("app")
		left := paused.Status.Step.Soak.Remaining
		if left == nil || left.Duration > 4*time.Second { // Times are whole seconds, and no soak is shorter than it should be.
			t.Fatalf("paused with %v left", left)
		}
		// Longer than the soak, and than everything is looked at again.
		<-time.After(7 * time.Second)
		if now := d.get("app"); now.ResourceVersion != paused.ResourceVersion {
			t.Errorf("while it was paused: %v", verbsOf(&now.Status))
		}
		d.must("app", binnacleapi.VerbResume)
		within(t, viewPatience, "the last step", func() bool { return d.get("app").Status.Step.Index == 1 })
		verbs := d.get("app").Status.Transitions
		if waited := verbs[3].Time.Sub(verbs[2].Time.Time); waited < left.Duration.Truncate(time.Second) {
			t.Errorf("%s after resume, with %s left", waited, left.Duration)
		}
	})
}

// TestFollowers lets in who joins, and lets go who is deleted, though nobody calls.
func TestFollowers(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d decider) {
		d.clusters(3)
		plan := d.plan("app", 100)
		plan.Spec.Drift = v1alpha1.DriftFollow
		d.create(plan)
		d.must("app", binnacleapi.VerbAdvance)
		d.wantPublished("app")
		d.clustersFrom(3, 5)
		within(t, viewPatience, "two more", func() bool { return len(published(d.slices("app"))) == 5 })
		if err := d.client.MulticlusterV1alpha2().ClusterProfiles(d.namespace).Delete(t.Context(), "c0", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		within(t, viewPatience, "one less", func() bool { return fmt.Sprint(published(d.slices("app"))) == "[c1 c2 c3 c4]" })
		d.wantPublished("app")
		before := d.get("app").ResourceVersion
		<-time.After(6 * time.Second) // Everything is looked at again meanwhile.
		if after := d.get("app"); after.ResourceVersion != before {
			t.Errorf("it was written though nothing happened: %v", verbsOf(&after.Status))
		}
	})
}

// TestKilledWhilePublishing kills the only server while it writes the slices of a thousand clusters, and wants them to be what the status says
// soon after it is back.
func TestKilledWhilePublishing(t *testing.T) {
	t.Parallel()
	etcd, _ := externalEtcd(t)
	s := startOn(t, etcd)
	d := newDecider(t, adminOf(t, s), "killed")
	d.clusters(1000)
	d.create(d.plan("app", 1, 100))
	d.must("app", binnacleapi.VerbAdvance)
	cut := 0
	for round := range 6 {
		verb, spec := binnacleapi.VerbPromote, v1alpha1.RolloutActionSpec{Reason: "all at once"}
		if round%2 == 1 {
			verb, spec = binnacleapi.VerbRollback, v1alpha1.RolloutActionSpec{ToRevision: ptr.To[int64](1)}
		} else if round > 0 { // It was ended by the rollback. The first step is empty then, so that this is the second.
			verb, spec = binnacleapi.VerbRetry, v1alpha1.RolloutActionSpec{}
		}
		before := d.get("app").Status.Revision
		over := make(chan error, 1)
		go func() { _, err := d.try("app", verb, spec); over <- err }()
		// As soon as one slice shows the next revision, or it is over, which is too late.
		within(t, viewPatience, "the first slice", func() bool {
			for _, slice := range d.slices("app") {
				if slice.Labels[v1alpha1.LabelDecisionRevision] != fmt.Sprint(before) {
					return true
				}
			}
			return false
		})
		if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
		if <-over != nil {
			cut++
		}
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		back := time.Now()
		within(t, repairPatience, "the slices to be what the status says", func() bool {
			rollout, found := d.get("app"), d.slices("app")
			return slices.Equal(published(found), through(&rollout.Status)) && !slices.ContainsFunc(found, func(slice multiclusterv1alpha1.PlacementDecision) bool {
				return slice.Labels[v1alpha1.LabelDecisionRevision] != fmt.Sprint(rollout.Status.Revision)
			})
		})
		t.Logf("%s: repaired %s after the server was ready", verb, time.Since(back).Round(time.Millisecond))
		d.wantPublished("app")
	}
	if cut == 0 {
		t.Error("the server was never killed before its answer")
	}
}
