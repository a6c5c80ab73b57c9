package rollout_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/rollout"
)

var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// world is a Rollout with the fleet around it.
type world struct {
	t       *testing.T
	rollout *binnacle.Rollout
	targets []rollout.Target
	silence bool
	now     time.Time
	next    *metav1.Time
}

func steps(list ...binnacle.RolloutStep) []binnacle.RolloutStep { return list }
func percent(n int32, gates ...binnacle.RolloutGate) binnacle.RolloutStep {
	return gated(binnacle.RolloutStep{Name: fmt.Sprint("p", n), Percent: ptr.To(n)}, gates)
}
func count(n int32, gates ...binnacle.RolloutGate) binnacle.RolloutStep {
	return gated(binnacle.RolloutStep{Name: fmt.Sprint("c", n), Count: ptr.To(n)}, gates)
}
func ring(value string, gates ...binnacle.RolloutGate) binnacle.RolloutStep {
	return gated(binnacle.RolloutStep{Name: value, ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"ring": value}}}, gates)
}
func gated(step binnacle.RolloutStep, gates []binnacle.RolloutGate) binnacle.RolloutStep {
	for _, gate := range gates {
		step.Gate = &gate
	}
	return step
}
func soak(d time.Duration) binnacle.RolloutGate {
	return binnacle.RolloutGate{Soak: &metav1.Duration{Duration: d}}
}

var success = binnacle.RolloutGate{Success: true}

// newWorld is a fleet of n connected clusters, and a Rollout over all of them.
func newWorld(t *testing.T, n int, plan ...binnacle.RolloutStep) *world {
	w := &world{t: t, now: start, rollout: &binnacle.Rollout{
		ObjectMeta: metav1.ObjectMeta{Name: "payments", Namespace: "fleet", UID: "uid", Generation: 1},
		Spec: binnacle.RolloutSpec{
			Targets: binnacle.RolloutTargets{Selector: &binnacle.SelectorTarget{Namespaces: []string{"fleet"}, Expression: "true"}},
			Output:  binnacle.RolloutOutput{DecisionKey: "payments"}, Steps: plan,
			Drift: binnacle.DriftFreeze, Disconnected: binnacle.DisconnectedHold, Progression: binnacle.ProgressionManual,
		}}}
	w.rollout.Status = rollout.Initial(1)
	for i := range n {
		w.add(fmt.Sprintf("store-%02d", i))
	}
	return w
}

func (w *world) add(name string) {
	w.targets = append(w.targets, rollout.Target{Name: name, Namespace: "fleet", Labels: labels.Set{}, Selected: true, Connected: true})
}

func (w *world) target(name string) *rollout.Target {
	i := slices.IndexFunc(w.targets, func(t rollout.Target) bool { return t.Name == name })
	return &w.targets[i]
}

func (w *world) remove(name string) {
	w.targets = slices.DeleteFunc(w.targets, func(t rollout.Target) bool { return t.Name == name })
}

func (w *world) input() rollout.Input {
	return rollout.Input{Rollout: w.rollout, Targets: w.targets, MassSilence: w.silence, Now: w.now}
}

func (w *world) store(result rollout.Result) {
	w.rollout = w.rollout.DeepCopy()
	w.rollout.Status = *result.Status.DeepCopy()
	w.next = result.Next
}

// try follows a request as ann, unless another user is named, and returns the reason of the refusal.
func (w *world) try(verb binnacle.RolloutVerb, req rollout.Request) string {
	w.t.Helper()
	req.Verb = verb
	if req.Actor.User == "" {
		req.Actor.User = "ann"
	}
	if verb == binnacle.VerbFeedback {
		w.t.Fatal("feedback has a function of its own")
	}
	result, err := rollout.Apply(w.input(), req)
	if err != nil {
		return w.reason(err)
	}
	w.store(result)
	return ""
}

func (w *world) reason(err error) string {
	var refusal *rollout.Refusal
	if !errors.As(err, &refusal) || refusal.Reason == "" || refusal.Message == "" {
		w.t.Fatalf("error %#v, want a Refusal", err)
	}
	return refusal.Reason
}

// do follows a request that must not be refused.
func (w *world) do(verb binnacle.RolloutVerb) {
	w.t.Helper()
	if reason := w.try(verb, rollout.Request{}); reason != "" {
		w.t.Fatalf("%s is refused: %s", verb, reason)
	}
}

// tick ticks until nothing changes any more, and returns how often something did.
func (w *world) tick() int {
	w.t.Helper()
	for n := 0; ; n++ {
		result := rollout.Tick(w.input())
		w.next = result.Next
		if !result.Changed {
			return n
		}
		w.store(result)
		if n > 100 {
			w.t.Fatal("a tick at one time never ends")
		}
	}
}

func (w *world) after(d time.Duration) { w.now = w.now.Add(d) }

func (w *world) report(outcome binnacle.RolloutOutcome, names ...string) []error {
	var outcomes []binnacle.RolloutFeedbackSpec
	for _, name := range names {
		outcomes = append(outcomes, binnacle.RolloutFeedbackSpec{Cluster: binnacle.ClusterReference{Name: name},
			Revision: w.rollout.Status.Revision, Outcome: outcome})
	}
	result, errs := rollout.Feedback(rollout.Input{Rollout: w.rollout, Now: w.now}, outcomes)
	w.store(result)
	return errs
}

func (w *world) succeed(names ...string) {
	w.t.Helper()
	for _, err := range w.report(binnacle.OutcomeSucceeded, names...) {
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) fail(names ...string) {
	w.t.Helper()
	for _, err := range w.report(binnacle.OutcomeFailed, names...) {
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// in are the names of who is through, in the order of the run.
func (w *world) in() []string {
	var names []string
	for i := range w.rollout.Status.Clusters {
		if c := &w.rollout.Status.Clusters[i]; rollout.IsThrough(c) {
			names = append(names, c.Name)
		}
	}
	return names
}

func (w *world) cluster(name string) *binnacle.RolloutCluster {
	i := slices.IndexFunc(w.rollout.Status.Clusters, func(c binnacle.RolloutCluster) bool { return c.Name == name })
	if i < 0 {
		w.t.Fatalf("%s is not in the status", name)
	}
	return &w.rollout.Status.Clusters[i]
}

// is checks phase, step, how many are through, and what is waited for.
func (w *world) is(phase binnacle.RolloutPhase, step string, in int, wait binnacle.RolloutWait) {
	w.t.Helper()
	status := &w.rollout.Status
	got := ""
	if status.Step != nil {
		got = status.Step.Name
	}
	waiting := rollout.WaitingFor(w.rollout, metav1.NewTime(w.now))
	if status.Phase != phase || got != step || len(w.in()) != in || int(status.Counts.In) != in || waiting != wait {
		w.t.Errorf("%s in %q with %d in (counted %d), waiting for %q; want %s in %q with %d, waiting for %q",
			status.Phase, got, len(w.in()), status.Counts.In, waiting, phase, step, in, wait)
	}
}
