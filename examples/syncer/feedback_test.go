package main

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	binnacle "github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned/fake"
)

// TestTell wants feedback once for each outcome, revision and Rollout, and again where it did not arrive.
func TestTell(t *testing.T) {
	client := fake.NewClientset()
	var told []binnacle.RolloutFeedbackSpec
	var fails error
	client.PrependReactor("create", "rollouts", func(action clienttesting.Action) (bool, runtime.Object, error) {
		posted := action.(clienttesting.CreateAction).GetObject().(*binnacle.RolloutFeedback)
		if fails == nil {
			told = append(told, posted.Spec)
		}
		return true, posted, fails
	})
	s := &syncer{rollouts: client.BinnacleV1alpha1().Rollouts("fleet"), told: map[cache.ObjectName]feedback{}}
	key, first, anew := cache.NewObjectName("fleet", "a"), rollout{"app", "1"}, rollout{"app", "2"}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "app", nil)
	for _, step := range []struct {
		what    string
		d       decision
		failure error
		fails   error
		told    int
		reason  string
	}{
		{"a decision without a Rollout", decision{revision: "1"}, nil, nil, 0, ""},
		{"a revision that is no number", decision{revision: "x", rollout: first}, nil, nil, 0, ""},
		{"an answer that does not come", decision{revision: "1", rollout: first}, nil, errors.New("away"), 0, ""},
		{"success", decision{revision: "1", rollout: first}, nil, nil, 1, ""},
		{"the same", decision{revision: "1", rollout: first}, nil, nil, 1, ""},
		{"the next revision", decision{revision: "2", rollout: first}, nil, nil, 2, ""},
		{"failure", decision{revision: "2", rollout: first}, forbidden, nil, 3, "Forbidden"},
		{"another failure", decision{revision: "2", rollout: first}, errors.New("dial"), nil, 4, "Unreachable"},
		{"success after it", decision{revision: "2", rollout: first}, nil, nil, 5, ""},
		{"another Rollout of the name", decision{revision: "2", rollout: anew}, nil, nil, 6, ""},
	} {
		fails = step.fails
		if err := s.tell(t.Context(), &step.d, key, step.failure); !errors.Is(err, step.fails) {
			t.Errorf("%s: %v", step.what, err)
		}
		if len(told) != step.told {
			t.Fatalf("%s: %d were told, want %d", step.what, len(told), step.told)
		}
		if n := len(told); n > 0 && (told[n-1].Reason != step.reason || (told[n-1].Outcome == binnacle.OutcomeFailed) != (step.reason != "")) {
			t.Errorf("%s: told %+v", step.what, told[n-1])
		}
	}
}
