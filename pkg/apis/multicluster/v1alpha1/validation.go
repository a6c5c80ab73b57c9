package v1alpha1

import (
	"context"

	"k8s.io/apimachinery/pkg/api/operation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/validation"
)

// The functions of this file are the rules that no declarative tag can say. Generated code calls each for the field that its name
// tells, marked with +k8s:customValidation, and skips them where an update leaves the field as it was.

// ValidateCustom_ClusterProfileSpec_ClusterManager refuses another cluster manager.
func ValidateCustom_ClusterProfileSpec_ClusterManager(_ context.Context, op operation.Operation, fldPath *field.Path, value, oldValue *ClusterManager) field.ErrorList {
	if op.Type != operation.Update || oldValue == nil {
		return nil
	}
	return validation.ValidateImmutableClusterManager(fldPath, value.Name, oldValue.Name)
}

// ValidateCustom_ClusterProfileStatus_Conditions checks conditions by the schema of a metav1.Condition.
func ValidateCustom_ClusterProfileStatus_Conditions(_ context.Context, _ operation.Operation, fldPath *field.Path, value, oldValue []metav1.Condition) field.ErrorList {
	return validation.ValidateConditions(fldPath, value, oldValue)
}

// ValidateCustom_Property_LastObservedTime checks that the time is one.
func ValidateCustom_Property_LastObservedTime(_ context.Context, _ operation.Operation, fldPath *field.Path, value, _ *Timestamp) field.ErrorList {
	return validation.ValidateTimestamp(fldPath, (*string)(value))
}

// ValidateCustom_NamedExtension_Extension checks that the extension is a JSON object.
func ValidateCustom_NamedExtension_Extension(_ context.Context, _ operation.Operation, fldPath *field.Path, value, _ *runtime.RawExtension) field.ErrorList {
	return validation.ValidateExtension(fldPath, value)
}

// ValidateCustom_PlacementDecision tells an empty list of decisions from one that was left out: only the first is a decision. No tag
// says that; the required of a list refuses the empty one too.
func ValidateCustom_PlacementDecision(_ context.Context, _ operation.Operation, fldPath *field.Path, value, _ *PlacementDecision) field.ErrorList {
	if value.Decisions == nil {
		return field.ErrorList{field.Required(fldPath.Child("decisions"), "")}
	}
	return nil
}
