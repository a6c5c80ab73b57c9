package validation

import (
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// ValidateRolloutAction checks what depends on the verb: a reason for promote, a revision for rollback, clusters for retry alone.
// namespace is that of the Rollout.
func ValidateRolloutAction(verb binnacle.RolloutVerb, action *binnacle.RolloutAction, namespace string) field.ErrorList {
	spec, fldPath := &action.Spec, field.NewPath("spec")
	errs := validateReason(fldPath.Child("reason"), spec.Reason)
	errs = append(errs, validateText(fldPath.Child("idempotencyKey"), spec.IdempotencyKey, true)...)
	if verb == binnacle.VerbPromote && strings.TrimSpace(spec.Reason) == "" {
		errs = append(errs, field.Required(fldPath.Child("reason"), "promote passes all gates: say why"))
	}
	switch {
	case verb == binnacle.VerbRollback && spec.ToRevision == nil:
		errs = append(errs, field.Required(fldPath.Child("toRevision"), "one of status.revisions"))
	case verb != binnacle.VerbRollback && spec.ToRevision != nil:
		errs = append(errs, field.Forbidden(fldPath.Child("toRevision"), "only rollback takes it"))
	}
	if verb != binnacle.VerbRetry && len(spec.Clusters) > 0 {
		errs = append(errs, field.Forbidden(fldPath.Child("clusters"), "only retry takes it"))
	}
	return append(errs, validateReferences(spec.Clusters, namespace, fldPath.Child("clusters"))...)
}

// ValidateRolloutFeedback wants the reason to be one word, and no version of the Rollout: each outcome makes another.
func ValidateRolloutFeedback(feedback *binnacle.RolloutFeedback) field.ErrorList {
	errs := ValidateConditionReason(field.NewPath("spec", "reason"), feedback.Spec.Reason)
	if feedback.Metadata.ResourceVersion != "" {
		errs = append(errs, field.Forbidden(field.NewPath("metadata", "resourceVersion"), "spec.revision says what the outcome is of"))
	}
	return errs
}

// validateReason refuses what would do something to the terminal that shows the reason, such as an escape sequence. It may have several lines.
func validateReason(fldPath *field.Path, reason string) field.ErrorList {
	errs := validateText(fldPath, reason, false)
	if len(errs) == 0 && strings.ContainsFunc(reason, func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
	}) {
		errs = append(errs, field.Invalid(fldPath, reason, "must not have control characters other than newline and tab"))
	}
	return errs
}
