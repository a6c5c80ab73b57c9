package integration

import (
	"fmt"
	"slices"

	binnacleapi "github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/rollout"
)

// addedTransitions are those that a write appended to the record, of which the server keeps the last 20. It is not ok where it did more.
func addedTransitions(before, after []v1alpha1.RolloutTransition) (added []v1alpha1.RolloutTransition, ok bool) {
	for n := range len(after) + 1 {
		kept := after[:len(after)-n]
		if len(after) == min(rollout.MaxRecorded, len(before)+n) &&
			slices.EqualFunc(kept, before[len(before)-len(kept):], func(a, b v1alpha1.RolloutTransition) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
			return after[len(after)-n:], true
		}
	}
	return nil, false
}

// wrong says which invariant a write broke, if any.
func (h *historian) wrong(before, now *v1alpha1.Rollout, added []v1alpha1.RolloutTransition) string {
	was, is := through(&before.Status), through(&now.Status)
	grown := now.Status.Revision - before.Status.Revision
	switch known, again := h.sets[now.Name][now.Status.Revision]; {
	case grown < 0 || grown > 1:
		return fmt.Sprintf("the revision grew by %d", grown)
	case grown == 0 && !slices.Equal(was, is):
		return fmt.Sprintf("%v became %v within a revision", was, is)
	case again && !slices.Equal(known, is):
		return fmt.Sprintf("revision %d was %v and is %v", now.Status.Revision, known, is)
	case len(added) == 0 && (grown != 0 || before.Status.Phase != now.Status.Phase || stepOf(before) != stepOf(now)):
		return "it moved, and nothing is on record"
	case len(added) == 0:
		return ""
	}
	first, last := added[0], added[len(added)-1]
	c := h.calls[first.Reason]
	if last.Phase != now.Status.Phase || last.Revision != now.Status.Revision || last.Step != stepOf(now) {
		return "the record ends elsewhere than the status"
	}
	if c.spec.ObservedRevision != nil && *c.spec.ObservedRevision != before.Status.Revision {
		return fmt.Sprintf("a request for revision %d was followed", *c.spec.ObservedRevision)
	}
	if byPerson := first.User != "binnacle.dev/automatic"; byPerson != (c.verb != "") || byPerson && string(c.verb) != first.Verb {
		return fmt.Sprintf("what was asked for is %q", c.verb)
	}
	return h.wrongStep(before, now, first, c)
}

func stepOf(r *v1alpha1.Rollout) string {
	if r.Status.Step == nil {
		return ""
	}
	return r.Status.Step.Name
}

// wrongStep says what a write did to who is through that the verb does not allow, or that the plan does not.
func (h *historian) wrongStep(before, now *v1alpha1.Rollout, first v1alpha1.RolloutTransition, c call) string {
	was, is := through(&before.Status), through(&now.Status)
	cell := rollout.Table[binnacleapi.RolloutPhase(before.Status.Phase)][c.verb]
	if c.verb != "" && !slices.Contains(cell.To, binnacleapi.RolloutPhase(now.Status.Phase)) {
		return fmt.Sprintf("%s led from %s to %s", c.verb, before.Status.Phase, now.Status.Phase)
	}
	isStep, current := first.Verb == "step" || first.Verb == "advance", -1
	switch {
	case first.Verb == "abort":
		return differ(is, h.sets[now.Name][before.Status.BaseRevision])
	case first.Verb == "rollback":
		return differ(is, h.sets[now.Name][*c.spec.ToRevision])
	case first.Verb == "retry" && binnacleapi.RolloutPhase(before.Status.Phase).Finished():
		isStep = true // A new run, with its first step.
	case before.Status.Step != nil:
		current = int(before.Status.Step.Index)
	}
	if !isStep {
		return differ(is, was)
	}
	if soak := before.Status.Step; first.Verb == "step" && (before.Status.Phase != v1alpha1.RolloutProgressing || soak.Soak == nil || first.Time.Before(soak.Soak.EndTime)) {
		return "the step was not due"
	}
	// The first step after the current one that has more clusters than are through, and no more than that.
	next := current + 1
	size := func() int { return (int(*now.Spec.Steps[next].Percent)*randomClusters + 99) / 100 }
	for next < len(now.Spec.Steps)-1 && size() <= len(was) {
		next++
	}
	if int(now.Status.Step.Index) != next || len(is) != size() || !isSubset(was, is) {
		return fmt.Sprintf("%d became %d clusters with step %d, want %d with step %d", len(was), len(is), now.Status.Step.Index, size(), next)
	}
	return ""
}

func differ(got, want []string) string {
	if !slices.Equal(got, want) {
		return fmt.Sprintf("through are %v, want %v", got, want)
	}
	return ""
}

func isSubset(some, all []string) bool {
	return !slices.ContainsFunc(some, func(name string) bool { return !slices.Contains(all, name) })
}
