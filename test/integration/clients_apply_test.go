package integration

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	apibinnacle "github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
	applybinnacle "github.com/binnacle-dev/binnacle/pkg/generated/applyconfiguration/binnacle/v1alpha1"
	applyv1alpha1 "github.com/binnacle-dev/binnacle/pkg/generated/applyconfiguration/multicluster/v1alpha1"
	applyv1alpha2 "github.com/binnacle-dev/binnacle/pkg/generated/applyconfiguration/multicluster/v1alpha2"
	"github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned"
	"github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned/fake"
)

// TestApplyWithTypedClients applies with the generated client: to the server, and to the fake that people test their controllers with,
// which has to merge as the server does. What a manager applied it finds again with Extract.
func TestApplyWithTypedClients(t *testing.T) {
	namespace := newNamespace(t)
	for _, test := range []struct {
		name   string
		client versioned.Interface
		// subresource that is noted with what was applied to the status: client-go's fakes note none.
		subresource string
	}{{"server", versioned.NewForConfigOrDie(hub.AdminConfig()), "status"}, {"fake", fake.NewClientset(), ""}} {
		t.Run(test.name, func(t *testing.T) {
			client := test.client
			profiles := client.MulticlusterV1alpha2().ClusterProfiles(namespace)
			if _, err := profiles.Apply(t.Context(), applyv1alpha2.ClusterProfile("c", namespace).WithSpec(
				applyv1alpha2.ClusterProfileSpec().WithClusterManager(applyv1alpha2.ClusterManager().WithName("m"))), metav1.ApplyOptions{FieldManager: "owner"}); err != nil {
				t.Fatal(err)
			}
			says := func(manager, property, value string) error {
				_, err := profiles.ApplyStatus(t.Context(), applyv1alpha2.ClusterProfile("c", namespace).WithStatus(applyv1alpha2.ClusterProfileStatus().
					WithProperties(applyv1alpha2.Property().WithName(property).WithValue(value))), metav1.ApplyOptions{FieldManager: manager})
				return err
			}
			for _, manager := range []string{"a", "b"} {
				if err := says(manager, manager+".example.com", manager); err != nil {
					t.Fatal(err)
				}
			}
			if err := says("b", "a.example.com", "other"); !apierrors.IsConflict(err) {
				t.Errorf("a property of another manager: %v", err)
			}
			profile, err := profiles.Get(t.Context(), "c", metav1.GetOptions{})
			if err != nil || len(profile.Status.Properties) != 2 {
				t.Fatalf("%v, %+v", err, profile.Status)
			}
			own, err := applyv1alpha2.ExtractClusterProfileFrom(profile, "a", test.subresource)
			if err != nil || own.Status == nil || len(own.Status.Properties) != 1 || *own.Status.Properties[0].Name != "a.example.com" {
				t.Errorf("of the status, a owns %+v: %v", own.Status, err)
			}

			if _, err := client.MulticlusterV1alpha1().PlacementDecisions(namespace).Apply(t.Context(), applyv1alpha1.PlacementDecision("d", namespace).
				WithDecisions(v1alpha1.ClusterDecisions{{ClusterProfileRef: v1alpha1.ClusterProfileReference{Name: ptr.To("c")}}}),
				metav1.ApplyOptions{FieldManager: "owner"}); err != nil {
				t.Errorf("a decision: %v", err)
			}
			rollout, err := client.BinnacleV1alpha1().Rollouts(namespace).Apply(t.Context(), applybinnacle.Rollout("r", namespace).WithSpec(applybinnacle.RolloutSpec().
				WithTargets(applybinnacle.RolloutTargets().WithClusters(applybinnacle.ClusterReference().WithName("c"))).
				WithOutput(applybinnacle.RolloutOutput().WithDecisionKey("r")).WithProgression(apibinnacle.ProgressionManual).
				WithSteps(applybinnacle.RolloutStep().WithName("all").WithPercent(100))), metav1.ApplyOptions{FieldManager: "owner"})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := applybinnacle.ExtractRollout(rollout, "owner"); err != nil || got.Spec == nil || len(got.Spec.Steps) != 1 || *got.Spec.Steps[0].Name != "all" {
				t.Errorf("of the Rollout, its owner applied %+v: %v", got, err)
			}
		})
	}
}
