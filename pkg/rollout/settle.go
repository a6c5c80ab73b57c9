package rollout

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// judge looks whether the step is settled, late, or beyond the failure budget.
func (r *run) judge() {
	if r.status.Step == nil || r.status.Phase.Finished() {
		return
	}
	r.runTimers()
	step := r.status.Step
	if gate := r.gate(); gate != nil && gate.Success && step.SettledTime == nil {
		switch deadline := r.spec.ProgressDeadline; {
		case r.unsettled() == 0:
			step.SettledTime, step.Deadline = r.stamp(), nil
			if gate.Soak != nil && step.Soak == nil {
				step.Soak = r.timer(gate.Soak.Duration)
			}
		case deadline == nil:
			step.Deadline = nil
		case step.Deadline == nil:
			step.Deadline = r.timer(deadline.Duration)
		}
	}
	if !r.is(binnacle.ConditionStopped) {
		switch failed, budget := r.failed(), r.budget(); {
		case failed > budget:
			r.stop(binnacle.ReasonBudgetExceeded, fmt.Sprintf("%d failed, more than the failure budget of %d: %s", failed, budget, r.names(is(binnacle.ClusterFailed))))
		case isOver(step.Deadline, r.now):
			r.stop(binnacle.ReasonDeadlineExceeded, "not settled in time: "+r.names(is(binnacle.ClusterIn)))
		}
	}
	r.runTimers()
}

func (r *run) stop(reason, message string) {
	r.condition(binnacle.ConditionStopped, metav1.ConditionTrue, reason, message)
	r.note("stop", Actor{User: Automatic}, "", message)
}

// settle brings everything that follows from the rest up to date.
func (r *run) settle() {
	r.judge()
	status := r.status
	if !status.Phase.Finished() && status.Phase != pending {
		status.PlanHash = planHash(r.spec)
	}
	if status.Phase == progressing || status.Phase == paused || status.Phase == stopped {
		switch {
		case r.is(binnacle.ConditionStopped):
			status.Phase = stopped
		case r.is(binnacle.ConditionPaused):
			status.Phase = paused
		case status.Step != nil && !r.isLeft() && r.closed() == "":
			status.Phase, status.CompletionTime = completed, r.stamp()
			r.note("complete", Actor{User: Automatic}, "", "")
		default:
			status.Phase = progressing
		}
	}
	if status.Phase.Finished() && status.Step != nil {
		status.Step.Soak, status.Step.Deadline = nil, nil
	}
	r.count()
	r.describe()
	status.ObservedGeneration = r.in.Rollout.Generation
	status.WaitingFor, status.NextTime = r.waitingFor(), r.nextTime()
	r.finishNotes()
}

// nextTime is when something happens though nobody does anything.
func (r *run) nextTime() *metav1.Time {
	step := r.status.Step
	if step == nil || r.status.Phase != progressing {
		return nil
	}
	if r.isAutomatic() && r.closed() == "" && r.isLeft() && !r.blocked {
		return r.stamp()
	}
	var next *metav1.Time
	for _, timer := range []*binnacle.RolloutTimer{step.Soak, step.Deadline} {
		if timer != nil && timer.EndTime != nil && !isOver(timer, r.now) && (next == nil || timer.EndTime.Before(next)) {
			next = timer.EndTime
		}
	}
	return next
}

func (r *run) count() {
	counts := binnacle.RolloutCounts{LeftOut: r.status.Counts.LeftOut}
	for i := range r.status.Clusters {
		c := &r.status.Clusters[i]
		if isTarget(c, r.spec.Drift) {
			counts.Targets++
		}
		if IsThrough(c) {
			counts.In++
			counts.Slices = max(counts.Slices, c.Slice+1)
		}
		switch c.State {
		case binnacle.ClusterPending:
			counts.Pending++
		case binnacle.ClusterHeld:
			counts.Held++
		case binnacle.ClusterSucceeded:
			counts.Succeeded++
		case binnacle.ClusterFailed:
			counts.Failed++
		case binnacle.ClusterSkipped:
			if c.Reason == binnacle.ReasonGone {
				counts.Skipped++
			}
		}
	}
	if r.status.Revision > 0 {
		counts.Slices = max(1, counts.Slices)
	}
	r.status.Counts = counts
}

// is asks for clusters in a state.
func is(state binnacle.RolloutClusterState) func(*binnacle.RolloutCluster) bool {
	return func(c *binnacle.RolloutCluster) bool { return c.State == state }
}

// names are the first clusters of a kind, for people.
func (r *run) names(of func(*binnacle.RolloutCluster) bool) string {
	var names []string
	for i := range r.status.Clusters {
		c := &r.status.Clusters[i]
		if !of(c) {
			continue
		}
		name := c.Name
		if c.Namespace != "" {
			name = c.Namespace + "/" + name
		}
		if names = append(names, name); len(names) > mostNamed {
			break
		}
	}
	return first(names)
}

// mostNamed is how many clusters a text for people names.
const mostNamed = 10

// first are the first names of a list.
func first(names []string) string {
	if len(names) > mostNamed {
		return strings.Join(names[:mostNamed], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// condition sets a condition; one that is not true is set only where it was.
func (r *run) condition(kind string, status metav1.ConditionStatus, reason, message string) {
	if status != metav1.ConditionTrue && meta.FindStatusCondition(r.status.Conditions, kind) == nil {
		return
	}
	meta.SetStatusCondition(&r.status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message,
		ObservedGeneration: r.in.Rollout.Generation, LastTransitionTime: r.now})
}
