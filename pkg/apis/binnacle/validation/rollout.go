package validation

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// MaxSliceBase is how many characters the names of slices begin with at most, the same as the tag of output.name says.
const MaxSliceBase = 240

// Bounds of the durations of a Rollout.
const (
	MinDuration = time.Second
	MaxDuration = 365 * 24 * time.Hour
)

// ExpressionCheck says what is wrong with a CEL expression. Whoever knows the types of its variables hands it in: this package knows no
// CEL. nil checks nothing.
type ExpressionCheck func(fldPath *field.Path, expression string) field.ErrorList

// ValidateRollout checks what crosses fields of a Rollout. Lengths, bounds, formats and keys are tags.
func ValidateRollout(rollout *binnacle.Rollout, check ExpressionCheck) field.ErrorList {
	spec, fldPath := &rollout.Spec, field.NewPath("spec")
	errs := validateTargets(&spec.Targets, rollout.Namespace, fldPath.Child("targets"), check)
	if decision := spec.Targets.Decision; decision != nil && decision.Key != "" && decision.Key == spec.Output.DecisionKey {
		errs = append(errs, field.Invalid(fldPath.Child("targets", "decision", "key"), decision.Key, "must not be the decision that the rollout publishes"))
	}
	if spec.Output.Name == "" && len(rollout.Name) > MaxSliceBase {
		errs = append(errs, field.Required(fldPath.Child("output", "name"), fmt.Sprintf("since the name of the Rollout has more than %d characters, too many for the names of slices to begin with", MaxSliceBase)))
	}
	errs = append(errs, validateText(fldPath.Child("output", "schedulerName"), spec.Output.SchedulerName, true)...)
	errs = append(errs, validateSteps(spec.Steps, fldPath.Child("steps"))...)
	if spec.Order != nil {
		errs = append(errs, validateReferences(spec.Order.Canaries, rollout.Namespace, fldPath.Child("order", "canaries"))...)
	}
	if budget := spec.FailureBudget; budget != nil {
		errs = append(errs, exactlyOne(fldPath.Child("failureBudget"), map[string]bool{"count": budget.Count != nil, "percent": budget.Percent != nil})...)
	}
	return append(errs, validateDeadline(spec, fldPath)...)
}

// validateDeadline refuses a deadline that nothing can miss.
func validateDeadline(spec *binnacle.RolloutSpec, fldPath *field.Path) field.ErrorList {
	at := fldPath.Child("progressDeadline")
	errs := validateDuration(spec.ProgressDeadline, at)
	if spec.ProgressDeadline == nil {
		return errs
	}
	for _, step := range spec.Steps {
		if step.Gate != nil && step.Gate.Success {
			return errs
		}
	}
	return append(errs, field.Invalid(at, spec.ProgressDeadline.Duration.String(), "has no effect, since the gate of no step waits for success"))
}

func validateTargets(targets *binnacle.RolloutTargets, namespace string, fldPath *field.Path, check ExpressionCheck) field.ErrorList {
	errs := exactlyOne(fldPath, map[string]bool{
		"decision": targets.Decision != nil, "selector": targets.Selector != nil, "clusters": len(targets.Clusters) > 0})
	errs = append(errs, validateReferences(targets.Clusters, namespace, fldPath.Child("clusters"))...)
	selector, at := targets.Selector, fldPath.Child("selector")
	if selector == nil {
		return errs
	}
	switch {
	case selector.Labels != nil:
		errs = append(errs, validateSelector(selector.Labels, at.Child("labels"))...)
	case selector.Expression == "":
		errs = append(errs, field.Required(at, `one of labels and expression; the expression "true" takes all clusters of the namespaces`))
	}
	if selector.Expression == "" {
		return errs
	}
	text := validateText(at.Child("expression"), selector.Expression, false)
	if len(text) == 0 && check != nil {
		text = check(at.Child("expression"), selector.Expression)
	}
	return append(errs, text...)
}

// validateReferences refuses a cluster that is named twice.
func validateReferences(clusters []binnacle.ClusterReference, namespace string, fldPath *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[binnacle.ClusterReference]()
	for i, cluster := range clusters {
		whole := cluster
		if whole.Namespace == "" {
			whole.Namespace = namespace
		}
		if seen.Has(whole) {
			errs = append(errs, field.Duplicate(fldPath.Index(i), whole.Namespace+"/"+whole.Name))
		}
		seen.Insert(whole)
	}
	return errs
}

// validateSelector refuses an empty selector, which would select everything and is more often an omission.
func validateSelector(selector *metav1.LabelSelector, fldPath *field.Path) field.ErrorList {
	if len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		return field.ErrorList{field.Required(fldPath, "an empty selector would select every cluster")}
	}
	return metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, fldPath)
}

func validateDuration(duration *metav1.Duration, fldPath *field.Path) field.ErrorList {
	if duration == nil || duration.Duration >= MinDuration && duration.Duration <= MaxDuration {
		return nil
	}
	return field.ErrorList{field.Invalid(fldPath, duration.Duration.String(), fmt.Sprintf("must be %v to %v", MinDuration, MaxDuration))}
}

// exactlyOne wants one of the fields below fldPath to be set.
func exactlyOne(fldPath *field.Path, set map[string]bool) field.ErrorList {
	var given []string
	for _, name := range sets.List(sets.KeySet(set)) {
		if set[name] {
			given = append(given, name)
		}
	}
	names := fmt.Sprint(sets.List(sets.KeySet(set)))
	switch len(given) {
	case 0:
		return field.ErrorList{field.Required(fldPath, "exactly one of "+names)}
	case 1:
		return nil
	}
	return field.ErrorList{field.Invalid(fldPath, fmt.Sprint(given), "exactly one is allowed of "+names)}
}
