package rollout

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
)

// TestNamesOfSlicesThatAreTaken says of whom the PlacementDecision is, and what to do.
func TestNamesOfSlicesThatAreTaken(t *testing.T) {
	owned := func(name string) []metav1.OwnerReference {
		yes := true
		return []metav1.OwnerReference{{APIVersion: "binnacle.dev/v1alpha1", Kind: "Rollout", Name: name, UID: "other", Controller: &yes}}
	}
	for name, test := range map[string]struct {
		owners []metav1.OwnerReference
		says   string
	}{
		"nobody's":                    {nil, "delete it"},
		"of one that was deleted":     {owned("app"), "goes with it in a moment: try again"},
		"of one that is named so too": {owned("other"), "is of the Rollout other"},
	} {
		w := newWorld(t, 2)
		if _, err := w.decisions.Store.Create(ofDecisions(t.Context(), "fleet"), &multicluster.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Name: "app-0", Namespace: "fleet",
			OwnerReferences: test.owners}, Decisions: multicluster.ClusterDecisions{}}, rest.ValidateAllObjectFunc, &metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.create(w.plan("app", 100))
		if _, err := w.ask("app", binnacle.VerbAdvance, binnacle.RolloutAction{}); !apierrors.IsConflict(err) || cause(err) != binnacle.ReasonNameTaken || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
