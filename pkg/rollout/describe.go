package rollout

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// describe sets the conditions that follow from phase and clusters.
func (r *run) describe() {
	status := r.status
	if status.Phase == completed {
		r.condition(binnacle.ConditionComplete, metav1.ConditionTrue, "Completed", "")
	} else {
		r.condition(binnacle.ConditionComplete, metav1.ConditionFalse, string(status.Phase), "")
	}
	if status.Phase.Finished() {
		r.condition(binnacle.ConditionPaused, metav1.ConditionFalse, string(status.Phase), "")
		r.condition(binnacle.ConditionStopped, metav1.ConditionFalse, string(status.Phase), "")
	}
	if status.Counts.LeftOut > 0 {
		r.condition(binnacle.ConditionDrifted, metav1.ConditionTrue, binnacle.ReasonJoined,
			fmt.Sprintf("joined the targets and waiting for the next run: %d", status.Counts.LeftOut))
	} else {
		r.condition(binnacle.ConditionDrifted, metav1.ConditionFalse, "None", "")
	}
	r.describeHeld()
	r.describeBlocked()
}

// describeBlocked says what is in the way of ticks. While the reason stays the same, so does the message, which may name another cluster each
// time: nothing is written for that.
func (r *run) describeBlocked() {
	status, known := r.status, meta.FindStatusCondition(r.status.Conditions, binnacle.ConditionBlocked)
	follows := status.Phase == completed && (r.spec.Drift != binnacle.DriftFreeze || status.Counts.Held+status.Counts.Pending > 0)
	switch blocked := r.in.Blocked; {
	case status.Phase.Finished() && !follows, r.ticked && blocked == nil:
		r.condition(binnacle.ConditionBlocked, metav1.ConditionFalse, "None", "")
	case !r.ticked || blocked.Quiet:
	case known != nil && known.Status == metav1.ConditionTrue && known.Reason == blocked.Reason && known.ObservedGeneration == r.in.Rollout.Generation:
	default:
		r.condition(binnacle.ConditionBlocked, metav1.ConditionTrue, blocked.Reason, blocked.Message)
	}
}

// describeHeld says who is kept back. Whether the hub is suspect is known only to calls that look at the targets.
func (r *run) describeHeld() {
	status := r.status
	active := status.Phase == progressing || status.Phase == completed && status.Counts.Held+status.Counts.Pending > 0
	switch {
	case r.looked && r.in.MassSilence && active:
		r.condition(binnacle.ConditionHeld, metav1.ConditionTrue, binnacle.ReasonMassSilence, "many clusters went silent at once: nobody is let in before it is known why")
	case !r.looked && r.is(binnacle.ConditionHeld) && active:
	case status.Counts.Held > 0 && (active || !status.Phase.Finished()):
		ending := func(c *binnacle.RolloutCluster) bool {
			return c.State == binnacle.ClusterHeld && c.Reason == binnacle.ReasonTerminating
		}
		silent := func(c *binnacle.RolloutCluster) bool { return c.State == binnacle.ClusterHeld && !ending(c) }
		if names := r.names(silent); names != "" {
			r.condition(binnacle.ConditionHeld, metav1.ConditionTrue, binnacle.ReasonDisconnected, "kept back since they do not report: "+names)
		} else {
			r.condition(binnacle.ConditionHeld, metav1.ConditionTrue, binnacle.ReasonTerminating, "kept back since their ClusterProfiles are being deleted: "+r.names(ending))
		}
	default:
		r.condition(binnacle.ConditionHeld, metav1.ConditionFalse, "None", "")
	}
}

// note records a transition. Where it led is filled in at the end.
func (r *run) note(verb string, actor Actor, reason, message string) {
	r.noted++
	r.status.Transitions = append(r.status.Transitions, binnacle.RolloutTransition{Time: r.now, Verb: verb, User: actor.User,
		Groups: slices.Clone(actor.Groups[:min(len(actor.Groups), MaxGroups)]), Reason: reason, Message: message})
}

// noteSince records that clusters came or went by themselves.
func (r *run) noteSince(revision int64, verb string) {
	if r.status.Revision != revision {
		r.note(verb, Actor{User: Automatic}, "", "")
	}
}

// finishNotes fills in where the transitions of this call led and forgets the oldest.
func (r *run) finishNotes() {
	status := r.status
	all := status.Transitions
	for i := len(all) - r.noted; i < len(all); i++ {
		all[i].Phase, all[i].Revision = status.Phase, status.Revision
		if status.Step != nil {
			all[i].Step = status.Step.Name
		}
	}
	if extra := len(all) - MaxRecorded; extra > 0 {
		status.Transitions = slices.Clone(all[extra:])
	}
}
