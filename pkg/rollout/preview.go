package rollout

import (
	"slices"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// Preview says what a step would do now, the next one where step is empty. A later step is previewed as if all before it were taken now. It
// returns a *Refusal where there is no such step to come.
func Preview(in Input, step string) (binnacle.RolloutPreviewStatus, error) {
	r := newRun(&in)
	preview := binnacle.RolloutPreviewStatus{FromRevision: r.status.Revision}
	if r.status.Step != nil {
		preview.FromStep = r.status.Step.Name
	}
	if err := r.begin(&preview); err != nil {
		return preview, err
	}
	wanted := slices.IndexFunc(r.spec.Steps, func(s binnacle.RolloutStep) bool { return s.Name == step })
	if r.status.Step != nil && !r.isLeft() || step != "" && wanted <= r.current() {
		return preview, r.refuse(ReasonNoSuchStep, "there is no step %q to come", step)
	}
	for {
		p := r.next()
		preview.EmptySteps = append(preview.EmptySteps, p.empty...)
		if step != "" && p.index > wanted {
			preview.Step, preview.Planned = step, int32(r.through())
			break
		}
		if r.isHeld(p) {
			preview.Blockers = append(preview.Blockers, "none of the clusters of step "+r.spec.Steps[p.index].Name+" reports")
		}
		r.take(p)
		preview.Step, preview.Planned = r.status.Step.Name, r.status.Step.Planned
		if step == "" || p.index == wanted {
			break
		}
	}
	r.compare(&preview)
	return preview, nil
}

// begin brings the run to where the next step can be looked at, and lists what stands before it.
func (r *run) begin(preview *binnacle.RolloutPreviewStatus) error {
	block := func(blocked bool, says string) {
		if blocked {
			preview.Blockers = append(preview.Blockers, says)
		}
	}
	block(r.in.MassSilence, "many clusters went silent at once")
	if r.status.Phase == pending || r.status.Phase.Finished() {
		if r.status.Phase == completed && !r.isStale() {
			return r.refuse(ReasonUnchanged, "the rollout is complete, and neither its plan nor its targets changed")
		}
		return r.start(Actor{})
	}
	r.follow()
	r.judge()
	block(r.is(binnacle.ConditionPaused), "the rollout is paused")
	block(r.is(binnacle.ConditionStopped), "the rollout is stopped")
	wait := r.closed()
	block(wait != "", "the gate waits for "+string(wait))
	return nil
}

// compare lists how the clusters differ from what they were.
func (r *run) compare(preview *binnacle.RolloutPreviewStatus) {
	was := map[binnacle.ClusterReference]bool{}
	for i := range r.before.Clusters {
		c := &r.before.Clusters[i]
		was[binnacle.ClusterReference{Name: c.Name, Namespace: c.Namespace}] = IsThrough(c)
	}
	for i := range r.status.Clusters {
		c := &r.status.Clusters[i]
		ref := binnacle.ClusterReference{Name: c.Name, Namespace: c.Namespace}
		switch {
		case IsThrough(c) && !was[ref]:
			preview.Added = append(preview.Added, ref)
		case !IsThrough(c) && was[ref]:
			preview.Removed = append(preview.Removed, ref)
		case c.State == binnacle.ClusterHeld:
			preview.Held = append(preview.Held, ref)
		case c.State == binnacle.ClusterSkipped && c.Reason == binnacle.ReasonGone:
			preview.Skipped = append(preview.Skipped, ref)
		}
	}
	preview.Targets, preview.LeftOut = int32(r.base()), r.status.LeftOut
}
