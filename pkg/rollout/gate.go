package rollout

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// gate is what stands behind the current step, nil for nothing.
func (r *run) gate() *binnacle.RolloutGate {
	if i := r.current(); i >= 0 && i <= r.last() {
		return r.spec.Steps[i].Gate
	}
	return nil
}

// unsettled is how many of the clusters that this run let in have no outcome yet.
func (r *run) unsettled() int {
	n := 0
	for i := range r.status.Clusters {
		c := &r.status.Clusters[i]
		if c.State == binnacle.ClusterIn && IsThrough(c) && c.History[len(c.History)-1] > r.status.BaseRevision {
			n++
		}
	}
	return n
}

// failed is how many clusters failed, and budget how many may.
func (r *run) failed() int {
	n := 0
	for i := range r.status.Clusters {
		if r.status.Clusters[i].State == binnacle.ClusterFailed {
			n++
		}
	}
	return n
}

func (r *run) budget() int {
	switch budget := r.spec.FailureBudget; {
	case budget == nil:
		return 0
	case budget.Percent != nil:
		return int(*budget.Percent) * r.base() / 100
	default:
		return int(ptr.Deref(budget.Count, 0))
	}
}

// closed is what the gate waits for first, beside a person to advance; empty where it is open.
func (r *run) closed() binnacle.RolloutWait {
	gate, step := r.gate(), r.status.Step
	switch {
	case gate == nil || step == nil:
		return ""
	case gate.Success && r.unsettled() > 0:
		return binnacle.WaitSuccess
	case gate.Soak != nil && !isOver(step.Soak, r.now):
		return binnacle.WaitSoak
	case gate.Approval != nil && len(step.Approvals) < int(*gate.Approval) && r.isLeft():
		return binnacle.WaitApproval
	}
	return ""
}

// isLeft says whether a step to come has anything to do. Where none has, nobody is asked for one.
func (r *run) isLeft() bool {
	if r.current() >= r.last() {
		return false
	}
	return slices.ContainsFunc(r.status.Clusters, func(c binnacle.RolloutCluster) bool {
		return waits(&c) && c.Reason != binnacle.ReasonTerminating || c.State == binnacle.ClusterLeaving
	})
}

// waitingFor is the first thing that a rollout waits for.
func (r *run) waitingFor() binnacle.RolloutWait {
	switch {
	case phaseOf(r.status) == pending:
		return binnacle.WaitStart
	case r.status.Phase.Finished():
		return ""
	case r.is(binnacle.ConditionStopped):
		return binnacle.WaitRetry
	case r.is(binnacle.ConditionPaused):
		return binnacle.WaitResume
	}
	if wait := r.closed(); wait != "" {
		return wait
	}
	if r.isAutomatic() {
		return binnacle.WaitStep
	}
	return binnacle.WaitAdvance
}

// isAutomatic says whether the server takes the next step.
func (r *run) isAutomatic() bool {
	gate := r.gate()
	return r.spec.Progression == binnacle.ProgressionAutomatic && (gate == nil || !gate.Pause)
}

// WaitingFor is what a rollout waits for at a time. The status has it as of the last change, since nothing is stored when time merely
// passes.
func WaitingFor(rollout *binnacle.Rollout, now metav1.Time) binnacle.RolloutWait {
	r := run{in: &Input{Rollout: rollout}, spec: &rollout.Spec, status: &rollout.Status, now: now}
	return r.waitingFor()
}
