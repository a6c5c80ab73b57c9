package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

func addDefaultingFuncs(scheme *runtime.Scheme) error {
	return RegisterDefaults(scheme)
}

// SetDefaults_RolloutSpec allows no failure where nothing is said.
func SetDefaults_RolloutSpec(spec *RolloutSpec) {
	if spec.FailureBudget == nil {
		spec.FailureBudget = &RolloutBudget{Count: ptr.To[int32](0)}
	}
}
