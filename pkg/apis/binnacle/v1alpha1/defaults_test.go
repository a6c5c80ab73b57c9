package v1alpha1_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/install"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// TestDefaultsOfRollout fills what is left out and nothing that is said.
func TestDefaultsOfRollout(t *testing.T) {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	said := v1alpha1.RolloutSpec{Output: v1alpha1.RolloutOutput{SchedulerName: "mine"}, Drift: v1alpha1.DriftFollow, Disconnected: v1alpha1.DisconnectedInclude,
		Progression: v1alpha1.ProgressionAutomatic, FailureBudget: &v1alpha1.RolloutBudget{Percent: ptr.To[int32](5)}}
	for name, test := range map[string]struct{ spec, want v1alpha1.RolloutSpec }{
		"nothing is said": {v1alpha1.RolloutSpec{}, v1alpha1.RolloutSpec{Output: v1alpha1.RolloutOutput{SchedulerName: "binnacle.dev/rollout"},
			Drift: v1alpha1.DriftFreeze, Disconnected: v1alpha1.DisconnectedHold, Progression: v1alpha1.ProgressionManual,
			FailureBudget: &v1alpha1.RolloutBudget{Count: ptr.To[int32](0)}}},
		"all is said": {said, said},
	} {
		t.Run(name, func(t *testing.T) {
			rollout := &v1alpha1.Rollout{Spec: *test.spec.DeepCopy()}
			scheme.Default(rollout)
			if diff := cmp.Diff(&v1alpha1.Rollout{Spec: test.want}, rollout); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
