package metavalidation

import (
	"context"

	"k8s.io/apimachinery/pkg/api/operation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateCustom_Condition_LastTransitionTime is the rule that a tag on metav1.Condition names; apimachinery has it in a package that
// the generator does not look into.
func ValidateCustom_Condition_LastTransitionTime(ctx context.Context, op operation.Operation, fldPath *field.Path, value, oldValue *metav1.Time) field.ErrorList {
	return validation.ValidateCustom_Condition_LastTransitionTime(ctx, op, fldPath, value, oldValue)
}
