package validation

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// ValidateRolloutUpdate checks a change of the spec. What was decided cannot be changed behind the back of the run: not the output once it
// was started, and, while a run goes on, neither targets nor order, which are pinned, nor the steps up to the current one. An expression
// that did not change is not checked again, since what is known of clusters may have changed instead.
func ValidateRolloutUpdate(rollout, old *binnacle.Rollout, check ExpressionCheck) field.ErrorList {
	if before := old.Spec.Targets.Selector; before != nil && rollout.Spec.Targets.Selector != nil && before.Expression == rollout.Spec.Targets.Selector.Expression {
		check = nil
	}
	errs := ValidateRollout(rollout, check)
	spec, oldSpec, fldPath := &rollout.Spec, &old.Spec, field.NewPath("spec")
	if old.Status.StartTime == nil {
		return errs
	}
	errs = append(errs, immutable(fldPath.Child("output"), spec.Output, oldSpec.Output, "once the rollout was started")...)
	if old.Status.Phase.Finished() {
		return errs
	}
	errs = append(errs, immutable(fldPath.Child("targets"), spec.Targets, oldSpec.Targets, "while a run goes on")...)
	errs = append(errs, immutable(fldPath.Child("order"), spec.Order, oldSpec.Order, "while a run goes on")...)
	if step := old.Status.Step; step != nil {
		errs = append(errs, validatePassedSteps(spec.Steps, oldSpec.Steps, int(step.Index), fldPath.Child("steps"))...)
	}
	return errs
}

// validatePassedSteps keeps the steps up to the current one as they were.
func validatePassedSteps(steps, old []binnacle.RolloutStep, current int, fldPath *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := 0; i <= current && i < len(old); i++ {
		if i >= len(steps) {
			return append(errs, field.Forbidden(fldPath, "the step "+old[i].Name+" was taken: it cannot be removed"))
		}
		errs = append(errs, immutable(fldPath.Index(i), steps[i], old[i], "once the step was taken")...)
	}
	return errs
}

func immutable(fldPath *field.Path, value, old any, when string) field.ErrorList {
	if apiequality.Semantic.DeepEqual(value, old) {
		return nil
	}
	return field.ErrorList{field.Forbidden(fldPath, "is immutable "+when)}
}
