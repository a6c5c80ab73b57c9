package rollout_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/rollout"
)

func approval(n int32) binnacle.RolloutGate { return binnacle.RolloutGate{Approval: &n} }

// at brings a Rollout of ten clusters, in which every verb that a phase allows finds something to do, into a phase.
func at(t *testing.T, phase binnacle.RolloutPhase) *world {
	w := newWorld(t, 10, percent(20), percent(50, approval(2)), percent(100, soak(time.Hour)))
	w.rollout.Spec.FailureBudget = &binnacle.RolloutBudget{Count: ptr.To[int32](1)}
	started := func() {
		w.do(binnacle.VerbAdvance)
		w.do(binnacle.VerbAdvance)
		w.fail(w.in()[0])
		if reason := w.try(binnacle.VerbApprove, rollout.Request{Actor: rollout.Actor{User: "eve"}}); reason != "" {
			t.Fatal(reason)
		}
	}
	switch phase {
	case binnacle.RolloutProgressing:
		started()
	case binnacle.RolloutPaused:
		started()
		w.do(binnacle.VerbPause)
	case binnacle.RolloutStopped:
		started()
		w.fail(w.in()[1])
	case binnacle.RolloutCompleted:
		started()
		w.try(binnacle.VerbPromote, rollout.Request{})
		w.after(time.Hour)
		w.tick()
		w.add("newcomer")
	case binnacle.RolloutAborted:
		started()
		w.do(binnacle.VerbAbort)
	case binnacle.RolloutRolledBack:
		started()
		w.try(binnacle.VerbRollback, rollout.Request{RolloutActionSpec: binnacle.RolloutActionSpec{ToRevision: ptr.To[int64](1)}})
	}
	if got := w.rollout.Status.Phase; got != phase {
		t.Fatalf("%s, want %s", got, phase)
	}
	return w
}

// send sends a verb with the body that it needs.
func (w *world) send(verb binnacle.RolloutVerb) string {
	w.t.Helper()
	switch verb {
	case binnacle.VerbFeedback:
		name := "store-00"
		if in := w.in(); len(in) > 0 {
			name = in[len(in)-1]
		}
		if err := w.report(binnacle.OutcomeSucceeded, name)[0]; err != nil {
			return w.reason(err)
		}
		return ""
	case binnacle.VerbRollback:
		return w.try(verb, rollout.Request{RolloutActionSpec: binnacle.RolloutActionSpec{ToRevision: ptr.To[int64](1)}})
	case binnacle.VerbApprove:
		return w.try(verb, rollout.Request{Actor: rollout.Actor{User: "ben"}})
	}
	return w.try(verb, rollout.Request{})
}

// conditional are the cells whose condition does not hold where at leads to.
var conditional = map[binnacle.RolloutPhase]map[binnacle.RolloutVerb]string{
	binnacle.RolloutProgressing: {binnacle.VerbAdvance: rollout.ReasonGate},
	binnacle.RolloutStopped:     {binnacle.VerbResume: rollout.ReasonPhase},
	binnacle.RolloutAborted:     {binnacle.VerbFeedback: rollout.ReasonNotIn},
}

// TestTableIsComplete wants a cell for every phase and verb.
func TestTableIsComplete(t *testing.T) {
	for _, phase := range rollout.Phases {
		for _, verb := range binnacle.RolloutVerbs {
			cell, ok := rollout.Table[phase][verb]
			if !ok || cell.Says == "" {
				t.Errorf("%s × %s has no cell", phase, verb)
			}
		}
		if extra := len(rollout.Table[phase]) - len(binnacle.RolloutVerbs); extra != 0 {
			t.Errorf("%s has %d cells too many", phase, extra)
		}
	}
	if extra := len(rollout.Table) - len(rollout.Phases); extra != 0 {
		t.Errorf("%d rows too many", extra)
	}
}

// TestEveryVerbInEveryPhase sends every verb from every phase, and after it every other.
func TestEveryVerbInEveryPhase(t *testing.T) {
	for _, phase := range rollout.Phases {
		for _, first := range binnacle.RolloutVerbs {
			t.Run(string(phase)+"/"+string(first), func(t *testing.T) {
				for _, second := range binnacle.RolloutVerbs {
					w := at(t, phase)
					step(t, w, first, conditional[phase][first])
					step(t, w, second, "?")
				}
			})
		}
	}
}

// step sends a verb and checks it against the table. want is the reason of a refusal that a condition causes, ? for any or none.
func step(t *testing.T, w *world, verb binnacle.RolloutVerb, want string) {
	t.Helper()
	before := w.rollout.DeepCopy()
	phase := before.Status.Phase
	cell := rollout.Table[phase][verb]
	reason := w.send(verb)
	switch {
	case len(cell.To) == 0 && reason != rollout.ReasonPhase:
		t.Errorf("%s × %s: %q, want a refusal for the phase", phase, verb, reason)
	case len(cell.To) > 0 && want != "?" && reason != want:
		t.Errorf("%s × %s: %q, want %q", phase, verb, reason, want)
	case reason == "" && !slices.Contains(cell.To, w.rollout.Status.Phase):
		t.Errorf("%s × %s leads to %s, want one of %v", phase, verb, w.rollout.Status.Phase, cell.To)
	}
	if reason != "" {
		if diff := cmp.Diff(before, w.rollout); diff != "" {
			t.Errorf("%s × %s was refused and changed (-before +after):\n%s", phase, verb, diff)
		}
	}
}
