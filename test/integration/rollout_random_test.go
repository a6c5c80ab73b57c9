package integration

import (
	"fmt"
	"math/rand"
	"slices"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	binnacleapi "github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/rollout"
)

const (
	randomClusters, randomHands, randomCalls = 12, 4, 100
	// administrators may do everything on a standalone server.
	administrators = "binnacle-administrators"
)

// as is the decider as another person, who may do everything too.
func (d decider) as(user string) decider {
	config := rest.CopyConfig(d.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{administrators}}
	return newDecider(d.t, config, d.namespace)
}

// anyVerb is a verb that a phase mostly allows. What goes back is rare, so that there is a way to go back.
func anyVerb(random *rand.Rand, phase v1alpha1.RolloutPhase) binnacleapi.RolloutVerb {
	const a, p = binnacleapi.VerbAdvance, binnacleapi.VerbApprove
	for {
		verb := []binnacleapi.RolloutVerb{a, a, a, a, p, p, p, p, "pause", "pause", "resume", "resume", "retry", "retry", "abort", "rollback"}[random.Intn(16)]
		allowed, goesBack := len(rollout.Table[binnacleapi.RolloutPhase(phase)][verb].To) > 0, verb == binnacleapi.VerbRollback || verb == binnacleapi.VerbAbort
		if (allowed || random.Intn(3) == 0) && (!goesBack || random.Intn(4) == 0) {
			return verb
		}
	}
}

// ask sends random calls for the Rollouts, and returns the reasons of those that were followed and of those that were refused.
func (h *historian) ask(random *rand.Rand, people []decider, hand int, names []string) (followed, refused []string) {
	for n := range randomCalls {
		name, d := names[random.Intn(len(names))], people[random.Intn(len(people))]
		status := h.now(name).Status
		if random.Intn(3) == 0 && len(status.Clusters) > 0 { // Of a revision that may be over by then.
			outcome := []v1alpha1.RolloutOutcome{v1alpha1.OutcomeSucceeded, v1alpha1.OutcomeSucceeded, v1alpha1.OutcomeSucceeded, v1alpha1.OutcomeFailed}[random.Intn(4)]
			if _, err := d.report(name, status.Clusters[random.Intn(len(status.Clusters))].Name, status.Revision, outcome); err != nil && !apierrors.IsConflict(err) && !apierrors.IsInvalid(err) {
				h.t.Errorf("feedback: %v", err)
			}
			continue
		}
		c := call{anyVerb(random, status.Phase), v1alpha1.RolloutActionSpec{Reason: fmt.Sprintf("call %d of hand %d", n, hand)}}
		if c.verb == binnacleapi.VerbRollback {
			c.spec.ToRevision = ptr.To(max(1, status.Revision-random.Int63n(4)))
		}
		if random.Intn(3) == 0 {
			c.spec.ObservedRevision = ptr.To(max(0, status.Revision-random.Int63n(2))) // Every other one saw the one before.
		}
		h.announce(c)
		switch _, err := d.try(name, c.verb, c.spec); {
		case err == nil:
			followed = append(followed, c.spec.Reason)
		case apierrors.IsConflict(err), apierrors.IsInvalid(err):
			refused = append(refused, c.spec.Reason)
		default:
			h.t.Errorf("%s: %v", c.verb, err)
		}
	}
	return followed, refused
}

// TestRandomVerbsOnTwoReplicas sends verbs at random to two replicas from several hands at once, while the server takes steps by itself, and
// wants each stored version to follow from the one before by one thing that was asked for or was due, and each answer to be true.
func TestRandomVerbsOnTwoReplicas(t *testing.T) {
	t.Parallel()
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	deciders := twoReplicas(t)
	d := deciders[0]
	d.clusters(randomClusters)
	steps := []int32{10, 30, 50, 70, 100}
	manual, approved, automatic := d.plan("manual", steps...), d.plan("approved", steps...), d.automatic("automatic", time.Second, steps...)
	undisturbed := d.create(d.automatic("undisturbed", time.Second, steps...)).Name
	for i := range 4 {
		approved.Spec.Steps[i].Gate = &v1alpha1.RolloutGate{Approval: ptr.To[int32](2)}
	}
	var names []string
	for _, plan := range []*v1alpha1.Rollout{manual, approved, automatic} {
		plan.Spec.FailureBudget = &v1alpha1.RolloutBudget{Count: ptr.To[int32](2)}
		names = append(names, d.create(plan).Name)
	}
	var people []decider
	for i, user := range []string{"ann", "bob", "cem", "dan"} {
		people = append(people, deciders[i%2].as(user))
	}
	h := startHistorian(deciders[1])
	var hands sync.WaitGroup
	followed, refused := make([][]string, randomHands), make([][]string, randomHands)
	for hand := range randomHands {
		hands.Go(func() {
			followed[hand], refused[hand] = h.ask(rand.New(rand.NewSource(seed+int64(hand))), people, hand, names)
		})
	}
	hands.Wait()
	h.announce(call{binnacleapi.VerbAdvance, v1alpha1.RolloutActionSpec{Reason: "at last"}})
	d.must(undisturbed, binnacleapi.VerbAdvance, v1alpha1.RolloutActionSpec{Reason: "at last"})
	within(t, viewPatience, "all steps of one that nobody disturbs", func() bool { return h.now(undisturbed).Status.Phase == v1alpha1.RolloutCompleted })
	if status := h.now(undisturbed).Status; !slices.Equal(verbsOf(&status), []string{"advance", "step", "step", "step", "step", "complete"}) {
		t.Errorf("by itself it did %v", verbsOf(&status))
	}
	for _, name := range append(names, undisturbed) {
		newest := d.get(name)
		within(t, viewPatience, "the watch to be at the end", func() bool { return h.now(name).ResourceVersion == newest.ResourceVersion })
		within(t, viewPatience, "the slices of "+name, func() bool {
			return slices.Equal(published(d.slices(name)), through(&h.now(name).Status))
		})
	}
	h.check(slices.Concat(followed...), slices.Concat(refused...))
}

// check wants each call that was followed to be on record once, no other, and all that can happen to have happened.
func (h *historian) check(followed, refused []string) {
	heard, verbs := h.seen()
	for _, reason := range followed {
		if heard[reason] != 1 {
			h.t.Errorf("%s (%s) was followed, and is on record %d times", reason, h.calls[reason].verb, heard[reason])
		}
	}
	for _, reason := range refused {
		if heard[reason] != 0 {
			h.t.Errorf("%s (%s) was refused, and is on record", reason, h.calls[reason].verb)
		}
	}
	h.t.Logf("%d were followed and %d refused: %v", len(followed), len(refused), verbs)
	verbs["abort or rollback"] = verbs["abort"] + verbs["rollback"] // Each is rare.
	for _, verb := range []string{"advance", "pause", "resume", "retry", "abort or rollback", "approve", "step"} {
		if verbs[verb] == 0 {
			h.t.Errorf("nothing was a %s", verb)
		}
	}
}
