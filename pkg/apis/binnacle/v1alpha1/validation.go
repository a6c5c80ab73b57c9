package v1alpha1

import (
	"context"

	"k8s.io/apimachinery/pkg/api/operation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/validation"
)

// The functions of this file are the rules that no declarative tag can say. Generated code calls each for the field that its name
// tells, marked with +k8s:customValidation.

// ValidateCustom_ClusterReportSpec_Nodes refuses more ready nodes than there are.
func ValidateCustom_ClusterReportSpec_Nodes(_ context.Context, _ operation.Operation, fldPath *field.Path, value, _ *NodeCounts) field.ErrorList {
	return validation.ValidateNodeCounts(fldPath, value.Total, value.Ready)
}

// ValidateCustom_ReportedCondition_Type accepts what may be the type of a metav1.Condition.
func ValidateCustom_ReportedCondition_Type(_ context.Context, _ operation.Operation, fldPath *field.Path, value, _ *string) field.ErrorList {
	return validation.ValidateConditionType(fldPath, *value)
}

// ValidateCustom_ReportedCondition_Reason accepts what may be the reason of a metav1.Condition, and none.
func ValidateCustom_ReportedCondition_Reason(_ context.Context, _ operation.Operation, fldPath *field.Path, value, _ *string) field.ErrorList {
	return validation.ValidateConditionReason(fldPath, *value)
}

// ValidateCustom_ReportedCondition_Status accepts True, False and Unknown.
func ValidateCustom_ReportedCondition_Status(_ context.Context, _ operation.Operation, fldPath *field.Path, value, _ *metav1.ConditionStatus) field.ErrorList {
	return validation.ValidateConditionStatus(fldPath, *value)
}
