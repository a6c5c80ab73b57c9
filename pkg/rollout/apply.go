package rollout

import (
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// Initial is the status of a Rollout that is created: nothing is let in before the first advance.
func Initial(generation int64) binnacle.RolloutStatus {
	return binnacle.RolloutStatus{ObservedGeneration: generation, Phase: pending, WaitingFor: binnacle.WaitStart}
}

// Apply follows a request, or returns a *Refusal. Preconditions that a request leaves out are not made up: whoever retries after a
// conflict of storage must hand in the step that was read first, so that one request takes one step.
func Apply(in Input, req Request) (Result, error) {
	r := newRun(&in)
	if repeated, err := Repeated(in.Rollout, req); repeated || err != nil {
		return Result{Status: *r.status, Repeated: repeated, Next: r.nextTime()}, err
	}
	if err := r.preconditions(req.ObservedStep, req.ObservedRevision); err != nil {
		return Result{}, err
	}
	cell, known := Table[r.status.Phase][req.Verb]
	if !known || len(cell.To) == 0 || verbs[req.Verb] == nil {
		return Result{}, r.refuse(ReasonPhase, "%s is refused: the rollout %s", req.Verb, cell.Says)
	}
	if err := verbs[req.Verb](r, req); err != nil {
		return Result{}, err
	}
	if req.IdempotencyKey != "" {
		r.status.Requests = append(r.status.Requests, binnacle.RolloutRequest{Key: req.IdempotencyKey, Hash: requestHash(req), Time: r.now})
		if extra := len(r.status.Requests) - MaxRecorded; extra > 0 {
			r.status.Requests = slices.Clone(r.status.Requests[extra:])
		}
	}
	return r.finish(true), nil
}

// Tick does what is due by itself: it follows the targets, lets in who was held and, at most, takes one step.
func Tick(in Input) Result {
	r := newRun(&in)
	r.ticked = true
	if r.status.Phase == pending {
		return r.finish(false)
	}
	if r.status.Phase == completed && r.status.PlanHash != planHash(r.spec) {
		// Another plan is for a new run, which a person starts.
		r.letGo()
		return r.finish(false)
	}
	if in.Blocked != nil {
		r.blocked = true
		r.letGo()
		r.judge()
		return r.finish(false)
	}
	r.follow()
	r.judge()
	// Of targets that are followed and are nobody at all, nobody knows who would come in.
	r.blocked = in.MassSilence || r.spec.Drift == binnacle.DriftFollow && !r.isSelecting()
	if !r.is(binnacle.ConditionPaused) && !r.is(binnacle.ConditionStopped) && !r.blocked {
		r.admit()
		r.step()
	}
	return r.finish(false)
}

// finish settles the status and says whether more changed than follows from the time.
func (r *run) finish(recorded bool) Result {
	if recorded {
		r.record()
	}
	r.forget()
	r.prune()
	r.dropReasons()
	r.settle()
	next := r.status.NextTime
	silent := *r.status
	silent.WaitingFor, silent.NextTime, silent.ObservedGeneration = r.before.WaitingFor, r.before.NextTime, r.before.ObservedGeneration
	if apiequality.Semantic.DeepEqual(&silent, r.before) && r.status.ObservedGeneration == r.before.ObservedGeneration {
		return Result{Status: silent, Next: next}
	}
	return Result{Status: *r.status, Changed: true, Next: next}
}

// Repeated says whether a request was followed before. It returns a *Refusal where another one came under its idempotency key.
func Repeated(rollout *binnacle.Rollout, req Request) (bool, error) {
	if req.IdempotencyKey == "" {
		return false, nil
	}
	for _, done := range rollout.Status.Requests {
		if done.Key != req.IdempotencyKey {
			continue
		}
		if done.Hash != requestHash(req) {
			return false, refuse(&rollout.Status, ReasonKeyReused, "the idempotency key %q came with another request before", req.IdempotencyKey)
		}
		return true, nil
	}
	return false, nil
}

func (r *run) preconditions(step *string, revision *int64) error {
	current := ""
	if r.status.Step != nil {
		current = r.status.Step.Name
	}
	if step != nil && *step != current {
		return r.refuse(ReasonPrecondition, "observedStep is %q", *step)
	}
	if observed := ptr.Deref(revision, r.status.Revision); observed != r.status.Revision {
		return r.refuse(ReasonPrecondition, "observedRevision is %d", observed)
	}
	return nil
}

// admit lets in who was held and reports again, as far as the step has room; after the last step, everybody.
func (r *run) admit() {
	if r.status.Step == nil || r.status.Phase != progressing && r.status.Phase != completed {
		return
	}
	all := r.current() >= r.last() || r.status.Phase == completed
	room, rings := int(r.status.Step.Planned)-r.through(), r.rings(min(r.current(), r.last()))
	ring := !all && r.spec.Steps[r.current()].ClusterSelector != nil
	var add []int
	for i := range r.status.Clusters {
		c := &r.status.Clusters[i]
		target := r.targetOf(c)
		switch {
		case !waits(c) || target == nil:
		case r.held(target):
			if all {
				hold(c, target)
			}
		case all, c.State == binnacle.ClusterHeld && len(add) < room && (!ring || matchesAny(rings, target.Labels)):
			add = append(add, i)
		}
	}
	r.letIn(add)
	if len(add) > 0 {
		r.note("join", Actor{User: Automatic}, "", "")
	}
}

// step takes the next step where nothing is in its way.
func (r *run) step() {
	if r.status.Phase != progressing || r.status.Step == nil || !r.isLeft() || !r.isAutomatic() || r.closed() != "" {
		return
	}
	p := r.next()
	if r.isHeld(p) {
		r.blocked = true
		r.hold(p)
		return
	}
	r.take(p)
	r.note("step", Actor{User: Automatic}, "", skipped(p))
	r.record()
}
