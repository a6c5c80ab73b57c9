package rollout

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// startTimers begins a step, or another try: what waits for success starts later.
func (r *run) startTimers(gate *binnacle.RolloutGate) {
	if gate == nil {
		return
	}
	step := r.status.Step
	step.SettledTime, step.Soak, step.Deadline = nil, nil, nil
	if gate.Soak != nil && !gate.Success {
		step.Soak = r.timer(gate.Soak.Duration)
	}
}

// timer is one that is halted; runTimers lets it run. Whole seconds are rounded up, so that nothing ends too early.
func (r *run) timer(d time.Duration) *binnacle.RolloutTimer {
	if r.in.Now.Nanosecond() > 0 || d%time.Second > 0 {
		d = (d + time.Second - 1).Truncate(time.Second)
		if r.in.Now.Nanosecond() > 0 {
			d += time.Second
		}
	}
	return &binnacle.RolloutTimer{Remaining: &metav1.Duration{Duration: d}}
}

// runTimers halts the timers of the step while the rollout is paused or stopped, and lets them go on from there afterwards.
func (r *run) runTimers() {
	if r.status.Step == nil {
		return
	}
	halted := r.is(binnacle.ConditionPaused) || r.is(binnacle.ConditionStopped) || r.status.Phase.Finished()
	for _, timer := range []*binnacle.RolloutTimer{r.status.Step.Soak, r.status.Step.Deadline} {
		switch {
		case timer == nil:
		case halted && timer.EndTime != nil:
			timer.Remaining = &metav1.Duration{Duration: max(0, timer.EndTime.Sub(r.now.Time))}
			timer.EndTime = nil
		case !halted && timer.EndTime == nil && timer.Remaining != nil:
			end := metav1.NewTime(r.now.Add(timer.Remaining.Duration))
			timer.EndTime, timer.Remaining = &end, nil
		}
	}
}

// isOver says whether a timer has run out.
func isOver(timer *binnacle.RolloutTimer, now metav1.Time) bool {
	return timer != nil && timer.EndTime != nil && !now.Time.Before(timer.EndTime.Time)
}
