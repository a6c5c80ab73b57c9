package kubectl

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// waitingFor is what a rollout waits for now. The status has it as of the last change: when a soak is over and nobody has looked since, it
// still says so, and what stands behind the soak is what counts.
func waitingFor(rollout *v1alpha1.Rollout, now time.Time) v1alpha1.RolloutWait {
	status := &rollout.Status
	switch {
	case phaseOf(rollout) == v1alpha1.RolloutPending:
		return v1alpha1.WaitStart
	case status.WaitingFor != v1alpha1.WaitSoak || status.Step == nil || !isOver(status.Step.Soak, now):
		return status.WaitingFor
	}
	gate := gateOf(rollout)
	switch {
	case gate != nil && gate.Approval != nil && len(status.Step.Approvals) < int(*gate.Approval):
		return v1alpha1.WaitApproval
	case rollout.Spec.Progression == v1alpha1.ProgressionAutomatic && (gate == nil || !gate.Pause):
		return v1alpha1.WaitStep
	}
	return v1alpha1.WaitAdvance
}

func isOver(timer *v1alpha1.RolloutTimer, now time.Time) bool {
	return timer != nil && timer.EndTime != nil && !now.Before(timer.EndTime.Time)
}

// gateOf is what stands behind the current step, nil for nothing.
func gateOf(rollout *v1alpha1.Rollout) *v1alpha1.RolloutGate {
	if number := stepNumber(rollout); number > 0 {
		return rollout.Spec.Steps[number-1].Gate
	}
	return nil
}

// waitText says what a rollout waits for, and until when where that is known.
func waitText(rollout *v1alpha1.Rollout, now time.Time) string {
	step := rollout.Status.Step
	switch waitingFor(rollout, now) {
	case v1alpha1.WaitStart:
		return "the first advance"
	case v1alpha1.WaitAdvance:
		return "somebody to advance it"
	case v1alpha1.WaitSuccess:
		return "consumers to report success" + until(step.Deadline, now)
	case v1alpha1.WaitSoak:
		return "the soak to end" + until(step.Soak, now)
	case v1alpha1.WaitApproval:
		needed := int32(0)
		if gate := gateOf(rollout); gate != nil && gate.Approval != nil {
			needed = *gate.Approval
		}
		return fmt.Sprintf("approvals: %d of %d given", len(step.Approvals), needed)
	case v1alpha1.WaitStep:
		return "the server to take the next step"
	case v1alpha1.WaitResume:
		return "somebody to resume it"
	case v1alpha1.WaitRetry:
		return "somebody to retry, abort or roll back"
	}
	return string(rollout.Status.WaitingFor)
}

func until(timer *v1alpha1.RolloutTimer, now time.Time) string {
	switch {
	case timer == nil:
		return ""
	case timer.EndTime != nil:
		return fmt.Sprintf(", until %s (%s)", stamp(timer.EndTime.Time), duration.HumanDuration(max(0, timer.EndTime.Sub(now))))
	case timer.Remaining != nil:
		return fmt.Sprintf(", %s left when it goes on", duration.HumanDuration(timer.Remaining.Duration))
	}
	return ""
}
