package rollout

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/clusterstatus/viewlog"
	planner "github.com/binnacle-dev/binnacle/pkg/rollout"
)

// conflict is 409 with a word for programs in its cause.
func conflict(name, reason, message string) error {
	status := apierrors.NewConflict(binnacle.Resource("rollouts"), name, errors.New(message))
	status.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseType(reason), Message: message}}
	return status
}

// answer is what a client is told of a refusal of the planner: 422 where the body is wrong by itself, 409 where the rollout is in the way, 503
// where it passes by itself.
// Other errors are returned as they are.
func answer(name string, err error) error {
	var refusal *planner.Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	if refusal.Reason == binnacle.ReasonDecisionIncomplete {
		return viewlog.Unavailable(refusal.Message)
	}
	if refusal.Field == "" {
		return conflict(name, refusal.Reason, refusal.Message)
	}
	parts := strings.Split(refusal.Field, ".")
	return apierrors.NewInvalid(binnacle.Kind("RolloutAction"), name, field.ErrorList{
		field.Forbidden(field.NewPath(parts[0], parts[1:]...), refusal.Message),
	})
}

// halfWritten is the refusal where the slices of the targets' decision are not all of one revision, or some are missing.
func halfWritten(key string) error {
	return &planner.Refusal{Reason: binnacle.ReasonDecisionIncomplete,
		Message: fmt.Sprintf("the slices of the decision %q, which spec.targets names, are not whole: its producer is writing them, or has to write them again: try again", key)}
}

// moved is 409 for a request that named no precondition and came after one that it did not know of.
func moved(rollout *binnacle.Rollout) error {
	status := &rollout.Status
	step := "no step"
	if status.Step != nil {
		step = fmt.Sprintf("step %q", status.Step.Name)
	}
	return conflict(rollout.Name, planner.ReasonPrecondition,
		fmt.Sprintf("another request moved the rollout meanwhile (the rollout is %s in %s at revision %d)", status.Phase, step, status.Revision))
}

// isAbout is 409 where a request is about another Rollout of the same name. Without a uid it is about any.
func isAbout(rollout *binnacle.Rollout, uid types.UID) error {
	if uid == "" || uid == rollout.UID {
		return nil
	}
	return conflict(rollout.Name, planner.ReasonPrecondition, fmt.Sprintf("the precondition failed: its uid is %s, and the request is about %s", rollout.UID, uid))
}

// going is 409 for a Rollout that is being deleted.
func going(rollout *binnacle.Rollout) error {
	return conflict(rollout.Name, "Deleted", "the rollout is being deleted")
}
