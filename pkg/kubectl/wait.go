package kubectl

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// goal is what a rollout is waited for to reach.
type goal struct {
	text string
	// reached says whether it is there, and an error where it cannot come.
	reached func(*v1alpha1.Rollout, time.Time) (bool, error)
}

// phases that --wait=phase= takes.
var phases = []v1alpha1.RolloutPhase{v1alpha1.RolloutPending, v1alpha1.RolloutProgressing, v1alpha1.RolloutPaused, v1alpha1.RolloutStopped,
	v1alpha1.RolloutCompleted, v1alpha1.RolloutAborted, v1alpha1.RolloutRolledBack}

// parseGoal reads --wait.
func parseGoal(text string) (*goal, error) {
	kind, value, named := strings.Cut(text, "=")
	g := &goal{text: text}
	switch {
	case kind == "complete" && !named:
		g.reached = func(r *v1alpha1.Rollout, _ time.Time) (bool, error) {
			return phaseOf(r) == v1alpha1.RolloutCompleted, nil
		}
	case kind == "step" && !named:
		g.reached = isStepDone
	case kind == "step" && value != "":
		g.reached = func(r *v1alpha1.Rollout, _ time.Time) (bool, error) { return isAtStep(r, value) }
	case kind == "phase" && slices.Contains(phases, v1alpha1.RolloutPhase(value)):
		g.reached = func(r *v1alpha1.Rollout, _ time.Time) (bool, error) { return string(phaseOf(r)) == value, nil }
	case kind == "phase":
		return nil, fmt.Errorf("--wait: there is no phase %q: one of %v", value, phases)
	default:
		return nil, fmt.Errorf("--wait is complete, step, step=NAME or phase=PHASE, not %q", text)
	}
	return g, nil
}

// isStepDone says whether the gate of the current step is open, so that the next step may be taken.
func isStepDone(r *v1alpha1.Rollout, now time.Time) (bool, error) {
	switch waitingFor(r, now) {
	case v1alpha1.WaitAdvance, v1alpha1.WaitStep:
		return true, nil
	}
	return phaseOf(r) == v1alpha1.RolloutCompleted, nil
}

// isAtStep says whether a step, or a later one, was taken.
func isAtStep(r *v1alpha1.Rollout, name string) (bool, error) {
	wanted := slices.Index(stepNames(r), name) + 1
	if wanted == 0 {
		return false, fmt.Errorf("the rollout has no step %q: its steps are %s", name, strings.Join(stepNames(r), ", "))
	}
	return stepNumber(r) >= wanted && phaseOf(r) != v1alpha1.RolloutAborted && phaseOf(r) != v1alpha1.RolloutRolledBack, nil
}

// check says whether the wait is over. A rollout that was stopped, aborted or rolled back does not come further by itself.
func (g *goal) check(r *v1alpha1.Rollout, now time.Time) (bool, error) {
	if done, err := g.reached(r, now); done || err != nil {
		return done, err
	}
	switch phase := phaseOf(r); phase {
	case v1alpha1.RolloutStopped, v1alpha1.RolloutAborted, v1alpha1.RolloutRolledBack, v1alpha1.RolloutCompleted:
		return false, exitError{fmt.Errorf("rollout %s is %s: %s will not come by itself", r.Name, phaseText(r), g.text), ExitStopped}
	}
	return false, nil
}

// completeGoals completes --wait.
func (f *factory) completeGoals(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	goals := []cobra.Completion{"complete", "step"}
	if rollout := f.completing(cmd, args); rollout != nil {
		for _, name := range stepNames(rollout) {
			goals = append(goals, "step="+name)
		}
	}
	for _, phase := range phases {
		goals = append(goals, "phase="+string(phase))
	}
	return goals, cobra.ShellCompDirectiveNoFileComp
}
