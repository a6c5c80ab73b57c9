package validation

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// ValidateRolloutAction checks what depends on the verb: a reason for promote, a revision for rollback, clusters for retry alone.
// namespace is that of the Rollout.
func ValidateRolloutAction(verb binnacle.RolloutVerb, action *binnacle.RolloutAction, namespace string) field.ErrorList {
	spec, fldPath := &action.Spec, field.NewPath("spec")
	errs := validateText(fldPath.Child("reason"), spec.Reason, false)
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
