package validation

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// validateSteps wants each step to be of one kind and able to add clusters, and the last to reach all.
func validateSteps(steps []binnacle.RolloutStep, fldPath *field.Path) field.ErrorList {
	if len(steps) == 0 {
		return nil // Required by a tag.
	}
	errs := validateGrowth(steps, fldPath)
	for i, step := range steps {
		at, last := fldPath.Index(i), i == len(steps)-1
		errs = append(errs, exactlyOne(at, map[string]bool{
			"percent": step.Percent != nil, "count": step.Count != nil, "clusterSelector": step.ClusterSelector != nil})...)
		errs = append(errs, validateGate(step.Gate, last, at.Child("gate"))...)
		if ring := step.ClusterSelector; ring != nil {
			found := validateSelector(ring, at.Child("clusterSelector"))
			if len(found) == 0 {
				found = validateRing(steps[:i], ring, at.Child("clusterSelector"))
			}
			errs = append(errs, found...)
		}
	}
	if last := steps[len(steps)-1]; ptr.Deref(last.Percent, 0) != 100 {
		errs = append(errs, field.Invalid(fldPath.Index(len(steps)-1), last.Name, "the last step must be percent 100, so that every target is reached"))
	}
	return errs
}

// validateGrowth refuses a percent or a count that is not more than that of a step before.
func validateGrowth(steps []binnacle.RolloutStep, fldPath *field.Path) field.ErrorList {
	var errs field.ErrorList
	var percent, count int32
	for i, step := range steps {
		at := fldPath.Index(i)
		if percent >= 100 {
			errs = append(errs, field.Invalid(at, step.Name, "follows a step that reaches every target"))
			continue
		}
		grow := func(name string, value *int32, most *int32) {
			if value == nil {
				return
			}
			if *most > 0 && *value <= *most {
				errs = append(errs, field.Invalid(at.Child(name), *value, fmt.Sprintf("must be more than the %d of a step before: steps do not shrink", *most)))
			}
			*most = max(*most, *value)
		}
		grow("percent", step.Percent, &percent)
		grow("count", step.Count, &count)
	}
	return errs
}

func validateGate(gate *binnacle.RolloutGate, last bool, fldPath *field.Path) field.ErrorList {
	if gate == nil {
		return nil
	}
	errs := validateDuration(gate.Soak, fldPath.Child("soak"))
	if last && gate.Pause {
		errs = append(errs, field.Invalid(fldPath.Child("pause"), true, "no step follows"))
	}
	if last && gate.Approval != nil {
		errs = append(errs, field.Invalid(fldPath.Child("approval"), *gate.Approval, "no step follows"))
	}
	return errs
}

// validateRing refuses a ring that can add nobody, as far as the selectors tell: rings may overlap, but an earlier one must not
// select all that this one does.
func validateRing(before []binnacle.RolloutStep, ring *metav1.LabelSelector, fldPath *field.Path) field.ErrorList {
	for _, step := range before {
		if step.ClusterSelector != nil && covers(step.ClusterSelector, ring) {
			return field.ErrorList{field.Invalid(fldPath, metav1.FormatLabelSelector(ring), "selects no cluster that the step "+step.Name+" has not selected")}
		}
	}
	return nil
}

// covers says whether outer selects all that inner does, as far as their requirements tell one by one.
func covers(outer, inner *metav1.LabelSelector) bool {
	out, err := metav1.LabelSelectorAsSelector(outer)
	if err != nil {
		return false
	}
	in, err := metav1.LabelSelectorAsSelector(inner)
	if err != nil {
		return false
	}
	wanted, _ := out.Requirements()
	given, _ := in.Requirements()
	for _, w := range wanted {
		implied := false
		for _, g := range given {
			implied = implied || implies(g, w)
		}
		if !implied {
			return false
		}
	}
	return len(wanted) > 0
}

// implies says whether every set of labels that fulfils given fulfils wanted.
func implies(given, wanted labels.Requirement) bool {
	if given.Key() != wanted.Key() {
		return false
	}
	has, want := sets.New(given.ValuesUnsorted()...), sets.New(wanted.ValuesUnsorted()...)
	one := given.Operator() == selection.In || given.Operator() == selection.Equals || given.Operator() == selection.DoubleEquals
	switch wanted.Operator() {
	case selection.In, selection.Equals, selection.DoubleEquals:
		return one && want.IsSuperset(has)
	case selection.Exists:
		return one || given.Operator() == selection.Exists
	case selection.DoesNotExist:
		return given.Operator() == selection.DoesNotExist
	case selection.NotIn, selection.NotEquals:
		return one && !want.HasAny(has.UnsortedList()...) || given.Operator() == selection.DoesNotExist ||
			(given.Operator() == selection.NotIn || given.Operator() == selection.NotEquals) && has.IsSuperset(want)
	}
	return false
}
