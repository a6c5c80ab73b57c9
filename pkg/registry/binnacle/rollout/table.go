package rollout

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/registry/table"
	planner "github.com/binnacle-dev/binnacle/pkg/rollout"
)

type column = table.Column[*binnacle.Rollout]

var tableConvertor = table.NewConvertor(
	column{Name: "Step", Description: "Step that was taken last.", Value: func(r *binnacle.Rollout) any { return stepOf(&r.Status) }},
	column{Name: "Clusters", Description: "Clusters that are through, of the targets.",
		Value: func(r *binnacle.Rollout) any {
			return fmt.Sprintf("%d/%d", r.Status.Counts.In, r.Status.Counts.Targets)
		}},
	column{Name: "Phase", Description: "How far the rollout is.", Value: func(r *binnacle.Rollout) any { return string(r.Status.Phase) }},
	column{Name: "Waiting-For", Description: "What the rollout waits for.",
		Value: func(r *binnacle.Rollout) any { return string(planner.WaitingFor(r, metav1.Now())) }},
	column{Name: "Decision-Key", Wide: true, Description: "Decision that the rollout publishes.",
		Value: func(r *binnacle.Rollout) any { return r.Spec.Output.DecisionKey }},
	column{Name: "Next", Wide: true, Description: "In how long something happens by itself.", Value: func(r *binnacle.Rollout) any { return next(r) }},
)

// stepOf is the name of the current step, empty before the first.
func stepOf(status *binnacle.RolloutStatus) string {
	if status.Step == nil {
		return ""
	}
	return status.Step.Name
}

func next(r *binnacle.Rollout) string {
	if r.Status.NextTime.IsZero() {
		return ""
	}
	return duration.HumanDuration(max(0, time.Until(r.Status.NextTime.Time)))
}
