package rollout

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// verbs are those that take a RolloutAction. Each is called only in a phase that Table allows it in.
var verbs = map[binnacle.RolloutVerb]func(*run, Request) error{
	binnacle.VerbAdvance:  (*run).advance,
	binnacle.VerbPause:    (*run).pause,
	binnacle.VerbResume:   (*run).resume,
	binnacle.VerbApprove:  (*run).approve,
	binnacle.VerbPromote:  (*run).promote,
	binnacle.VerbAbort:    (*run).abort,
	binnacle.VerbRollback: (*run).rollback,
	binnacle.VerbRetry:    (*run).retry,
}

func (r *run) advance(req Request) error {
	switch {
	case r.status.Phase == completed && !r.isStale():
		return r.refuse(ReasonUnchanged, "the rollout is complete, and neither its plan nor its targets changed")
	case r.status.Phase != progressing:
		if err := r.start(req.Actor); err != nil {
			return err
		}
	default:
		r.follow()
		r.judge()
		if !r.isLeft() {
			return r.refuse(ReasonNoStep, "no step is left that has anything to do")
		}
		// Since the spec changed, or time passed, and nothing has looked yet.
		if r.is(binnacle.ConditionStopped) {
			return r.refuse(ReasonPhase, "the rollout %s", isStopped)
		}
		if wait := r.closed(); wait != "" {
			return r.refuse(ReasonGate, "the gate waits for %s%s", strings.ToLower(string(wait)), r.until(wait))
		}
	}
	return r.takeNext(req)
}

// until says when a soak is over.
func (r *run) until(wait binnacle.RolloutWait) string {
	if soak := r.status.Step.Soak; wait == binnacle.WaitSoak && soak != nil && soak.EndTime != nil {
		return " until " + soak.EndTime.UTC().Format("2006-01-02T15:04:05Z07:00")
	}
	return ""
}

func skipped(p stepPlan) string {
	if len(p.empty) == 0 {
		return ""
	}
	return "skipped as empty: " + strings.Join(p.empty, ", ")
}

func (r *run) pause(req Request) error {
	if r.is(binnacle.ConditionPaused) {
		return r.refuse(ReasonPhase, "the rollout is paused already")
	}
	r.condition(binnacle.ConditionPaused, metav1.ConditionTrue, "Paused", "by "+req.Actor.User)
	r.note(string(req.Verb), req.Actor, req.Reason, "")
	return nil
}

func (r *run) resume(req Request) error {
	if !r.is(binnacle.ConditionPaused) {
		return r.refuse(ReasonPhase, "the rollout is not paused")
	}
	r.condition(binnacle.ConditionPaused, metav1.ConditionFalse, "Resumed", "by "+req.Actor.User)
	r.note(string(req.Verb), req.Actor, req.Reason, "")
	return nil
}

func (r *run) approve(req Request) error {
	gate, step := r.gate(), r.status.Step
	switch {
	case gate == nil || gate.Approval == nil:
		return r.refuse(ReasonNoApproval, "the gate asks for no approval")
	case req.Actor.User == r.status.StartedBy:
		return r.refuse(ReasonApprover, "%s started the run and may not approve it", req.Actor.User)
	case slices.ContainsFunc(step.Approvals, func(a binnacle.RolloutApproval) bool { return a.User == req.Actor.User }):
		return r.refuse(ReasonApprover, "%s has approved already", req.Actor.User)
	case len(step.Approvals) >= int(*gate.Approval):
		return r.refuse(ReasonNoApproval, "all %d approvals were given", *gate.Approval)
	}
	step.Approvals = append(step.Approvals, binnacle.RolloutApproval{User: req.Actor.User, Time: r.now, Reason: req.Reason})
	r.note(string(req.Verb), req.Actor, req.Reason, "")
	return nil
}

func (r *run) promote(req Request) error {
	if r.status.Phase == pending {
		if err := r.start(req.Actor); err != nil {
			return err
		}
	} else {
		r.follow()
	}
	if r.status.Step != nil && !r.isLeft() {
		return r.refuse(ReasonNoStep, "no step is left that has anything to do")
	}
	r.take(r.plan(r.last()))
	r.note(string(req.Verb), req.Actor, req.Reason, "")
	return nil
}

func (r *run) abort(req Request) error {
	if r.status.Phase != pending {
		r.restore(r.status.BaseRevision)
	}
	r.end(aborted, req)
	return nil
}

func (r *run) rollback(req Request) error {
	revision := ptr.Deref(req.ToRevision, 0)
	if !slices.ContainsFunc(r.status.Revisions, func(known binnacle.RolloutRevision) bool { return known.Revision == revision }) {
		err := r.refuse(ReasonRevision, "revision %d is not recorded", revision).(*Refusal)
		err.Field = "spec.toRevision"
		return err
	}
	r.restore(revision)
	r.end(rolledBack, req)
	return nil
}

func (r *run) end(phase binnacle.RolloutPhase, req Request) {
	r.looked = true
	r.status.Phase, r.status.CompletionTime = phase, r.stamp()
	r.leaveOut(nil)
	r.note(string(req.Verb), req.Actor, req.Reason, "")
}

func (r *run) retry(req Request) error {
	if r.status.Phase.Finished() {
		if len(req.Clusters) > 0 {
			return r.refuse(ReasonPhase, "retry of single clusters is refused: the rollout %s, for all of its targets", wasEnded)
		}
		if err := r.start(req.Actor); err != nil {
			return err
		}
		return r.takeNext(req)
	}
	again, err := r.toRetry(req.Clusters)
	if err != nil {
		return err
	}
	for _, c := range again {
		c.State, c.Reason = binnacle.ClusterIn, ""
	}
	// Under a new revision, so that what is still to come about the old try does not count.
	r.revise()
	meta.RemoveStatusCondition(&r.status.Conditions, binnacle.ConditionStopped)
	r.startTimers(r.gate())
	r.note(string(req.Verb), req.Actor, req.Reason, "")
	return nil
}

// toRetry are the failed clusters, or those that are wanted, all of which must have failed.
func (r *run) toRetry(wanted []binnacle.ClusterReference) (again []*binnacle.RolloutCluster, err error) {
	var others []string
	for _, ref := range wanted {
		whole := r.whole(ref)
		i, known := r.index[r.ref(whole.Namespace, whole.Name)]
		if !known || r.status.Clusters[i].State != binnacle.ClusterFailed {
			others = append(others, whole.Namespace+"/"+whole.Name)
			continue
		}
		again = append(again, &r.status.Clusters[i])
	}
	if len(others) > 0 {
		return nil, r.refuse(ReasonNotFailed, "these did not fail: %s", first(others))
	}
	for i := range r.status.Clusters {
		if c := &r.status.Clusters[i]; len(wanted) == 0 && c.State == binnacle.ClusterFailed {
			again = append(again, c)
		}
	}
	if len(again) == 0 && !r.is(binnacle.ConditionStopped) {
		return nil, r.refuse(ReasonNotFailed, "none of the clusters failed")
	}
	return again, nil
}

// takeNext takes the next step that is not empty.
func (r *run) takeNext(req Request) error {
	if r.in.MassSilence {
		return r.refuse(binnacle.ReasonMassSilence, "many clusters went silent at once: nobody is let in before it is known why")
	}
	p := r.next()
	if r.isHeld(p) {
		return r.refuse(binnacle.ReasonDisconnected, "none of the clusters of step %q reports", r.spec.Steps[p.index].Name)
	}
	r.take(p)
	r.note(string(req.Verb), req.Actor, req.Reason, skipped(p))
	return nil
}
