package integration

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	binnacleapi "github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// race calls f for each decider n times at once, and returns how many calls succeeded, and the errors of the others.
func race(n int, deciders []decider, f func(d decider, i int) error) (won int, lost []error) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			err := f(deciders[i%len(deciders)], i)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			} else {
				lost = append(lost, err)
			}
		})
	}
	close(start)
	wg.Wait()
	return won, lost
}

// twoReplicas are deciders at two replicas on one etcd.
func twoReplicas(t *testing.T) []decider {
	t.Helper()
	servers, _, _ := startShared(t, 2)
	var deciders []decider
	for _, s := range servers {
		deciders = append(deciders, newDecider(t, adminOf(t, s), "race"))
	}
	return deciders
}

// TestParallelAdvances sends twenty advances at once to two replicas, step after step. Where they name the step that they saw, exactly one is
// followed each time. Where they do not, one that reaches the server after another was followed asks for the step after that; but no request
// takes more than one step, none takes a step that another took, and all others are told where the rollout is.
func TestParallelAdvances(t *testing.T) {
	deciders := twoReplicas(t)
	deciders[0].clusters(20)
	for name, pin := range map[string]bool{"named": true, "unnamed": false} {
		deciders[0].create(deciders[0].plan(name, 5, 10, 20, 25, 30, 40, 50, 60, 75, 80, 90, 100))
		for range 4 {
			before := deciders[0].get(name)
			spec := v1alpha1.RolloutActionSpec{}
			if pin {
				spec.ObservedStep = ptr.To("")
				if before.Status.Step != nil {
					spec.ObservedStep = &before.Status.Step.Name
				}
			}
			won, lost := race(20, deciders, func(d decider, _ int) error {
				_, err := d.try(name, binnacleapi.VerbAdvance, spec)
				return err
			})
			after := deciders[1].get(name)
			if taken := int(after.Status.Revision - before.Status.Revision); won == 0 || won != taken || pin && won != 1 {
				t.Errorf("%s: %d were followed and took %d steps", name, won, taken)
			}
			for _, err := range lost {
				if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), " at revision ") || !strings.Contains(err.Error(), `step "p`) {
					t.Errorf("%s: %v", name, err)
				}
			}
			deciders[won%2].wantPublished(name)
		}
	}
}

// TestOneRolloutPerDecision creates Rollouts with one output at once on two replicas, and starts ended ones at once: one is unfinished at any
// time, and the others are told which.
func TestOneRolloutPerDecision(t *testing.T) {
	deciders := twoReplicas(t)
	d := deciders[0]
	d.clusters(2)
	for round := range 5 {
		key := fmt.Sprint("key-", round)
		plan := func(i int) *v1alpha1.Rollout {
			plan := d.plan(fmt.Sprintf("r%d-%d", round, i), 100)
			plan.Spec.Output.DecisionKey = key
			return plan
		}
		won, lost := race(6, deciders, func(d decider, i int) error {
			_, err := d.rollouts().Create(t.Context(), plan(i), metav1.CreateOptions{})
			return err
		})
		first := d.unfinished(key)
		if won != 1 || len(first) != 1 {
			t.Fatalf("%d were created, and %v are there", won, first)
		}
		for _, err := range lost {
			if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "belongs to Rollout "+first[0]) {
				t.Errorf("%v does not name %s", err, first[0])
			}
		}
		// Two that are ended, to be started at once.
		d.must(first[0], binnacleapi.VerbAbort)
		second := d.create(plan(9))
		d.must(second.Name, binnacleapi.VerbAbort)
		names := []string{first[0], second.Name}
		won, _ = race(2, deciders, func(d decider, i int) error {
			_, err := d.try(names[i], binnacleapi.VerbRetry, v1alpha1.RolloutActionSpec{})
			return err
		})
		// One step is all of it, so the first may be complete before the second is looked at. It publishes then.
		if started := d.unfinished(key); won != 1 || len(started) > 1 {
			t.Errorf("%d were started, and %v are unfinished", won, started)
		}
	}
	other := d.create(d.plan("other", 100))
	taken := d.create(d.plan("taken", 100))
	other.Spec.Output.DecisionKey = taken.Spec.Output.DecisionKey
	if _, err := d.rollouts().Update(t.Context(), other, metav1.UpdateOptions{}); !apierrors.IsConflict(err) || causeOf(err) != "KeyTaken" {
		t.Errorf("a change to a key that is taken: %v", err)
	}
	if _, err := d.rollouts().Patch(t.Context(), "applied", applyPatch, []byte(strings.NewReplacer("GROUP/VERSION", "binnacle.dev/v1alpha1", `"decisionKey":"applied"`, `"decisionKey":"taken"`).Replace(rolloutNamed("applied"))),
		metav1.PatchOptions{FieldManager: "f"}); !apierrors.IsConflict(err) || causeOf(err) != "KeyTaken" {
		t.Errorf("an apply that creates one with a key that is taken: %v", err)
	}
	dry := d.plan("dry", 100)
	dry.Spec.Output.DecisionKey = "taken"
	if _, err := d.rollouts().Create(t.Context(), dry, metav1.CreateOptions{DryRun: []string{"All"}}); !apierrors.IsConflict(err) {
		t.Errorf("a dry run of a create with a key that is taken: %v", err)
	}
}

// unfinished are the names of the Rollouts of a key that are not finished.
func (d decider) unfinished(key string) (names []string) {
	d.t.Helper()
	list, err := d.rollouts().List(d.t.Context(), metav1.ListOptions{FieldSelector: "spec.output.decisionKey=" + key})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, r := range list.Items {
		if !binnacleapi.RolloutPhase(r.Status.Phase).Finished() {
			names = append(names, r.Name)
		}
	}
	return names
}

// TestManyOutcomesAtOnce posts outcomes of all clusters at once to two replicas. None is lost.
func TestManyOutcomesAtOnce(t *testing.T) {
	deciders := twoReplicas(t)
	const n = 200
	deciders[0].clusters(n)
	plan := deciders[0].plan("app", 100)
	plan.Spec.Steps[0].Gate = &v1alpha1.RolloutGate{Success: true}
	deciders[0].create(plan)
	deciders[0].must("app", binnacleapi.VerbAdvance)
	before := deciders[0].get("app").ResourceVersion
	var repeats atomic.Int32
	won, lost := race(n, deciders, func(d decider, i int) error {
		_, err := d.report("app", fmt.Sprint("c", i), 1, v1alpha1.OutcomeSucceeded)
		if apierrors.IsConflict(err) {
			repeats.Add(1)
		}
		return err
	})
	if won != n {
		t.Errorf("%d outcomes were taken: %v", won, lost)
	}
	if r := deciders[1].get("app"); r.Status.Counts.Succeeded != n || r.Status.Phase != v1alpha1.RolloutCompleted || r.ResourceVersion == before {
		t.Errorf("%+v in %s", r.Status.Counts, r.Status.Phase)
	}
}

// TestRepeatedRequests wants a request under an idempotency key to be followed once, and preconditions to hold.
func TestRepeatedRequests(t *testing.T) {
	onBoth(t, func(t *testing.T, d decider) {
		d.clusters(4)
		d.create(d.plan("app", 25, 50, 75, 100))
		once := v1alpha1.RolloutActionSpec{IdempotencyKey: "k1"}
		first := d.must("app", binnacleapi.VerbAdvance, once)
		again := d.must("app", binnacleapi.VerbAdvance, once)
		if first.Repeated || !again.Repeated || again.Step != "p25" || again.Revision != 1 {
			t.Errorf("first %+v, again %+v", first, again)
		}
		if _, err := d.try("app", binnacleapi.VerbPause, once); causeOf(err) != "KeyReused" {
			t.Errorf("another request under the key: %v", err)
		}
		for name, spec := range map[string]v1alpha1.RolloutActionSpec{
			"another step": {ObservedStep: ptr.To("p50")}, "no step": {ObservedStep: ptr.To("")}, "another revision": {ObservedRevision: ptr.To[int64](0)},
		} {
			if _, err := d.try("app", binnacleapi.VerbAdvance, spec); !apierrors.IsConflict(err) || causeOf(err) != "Precondition" || !strings.Contains(err.Error(), `step "p25" at revision 1`) {
				t.Errorf("%s: %v", name, err)
			}
		}
		d.must("app", binnacleapi.VerbAdvance, v1alpha1.RolloutActionSpec{ObservedStep: ptr.To("p25"), ObservedRevision: ptr.To[int64](1)})
		if _, err := d.report("app", d.get("app").Status.Clusters[0].Name, 1, v1alpha1.OutcomeSucceeded); causeOf(err) != "Revision" {
			t.Errorf("feedback for an old revision: %v", err)
		}
		for name, spec := range map[string]v1alpha1.RolloutActionSpec{
			"spec.reason": {Reason: " "}, "spec.toRevision": {Reason: "x", ToRevision: ptr.To[int64](1)}, "spec.clusters": {Reason: "x", Clusters: []v1alpha1.ClusterReference{{Name: "c0"}}},
		} {
			if _, err := d.try("app", binnacleapi.VerbPromote, spec); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), name) {
				t.Errorf("promote with a wrong %s: %v", name, err)
			}
		}
	})
}
