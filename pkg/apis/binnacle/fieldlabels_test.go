package binnacle_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/install"
)

// TestFieldLabels asks the scheme, as the server does, for each field that a selector may name.
func TestFieldLabels(t *testing.T) {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	tests := []struct {
		kind, label string
		// want is empty for a field that no selector may name.
		want string
	}{
		{"ClusterStatus", "metadata.name", "metadata.name"},
		{"ClusterStatus", "metadata.namespace", "metadata.namespace"},
		{"ClusterStatus", "status.phase", binnacle.SelectorPhase},
		{"ClusterStatus", "status.kubernetesVersion", binnacle.SelectorKubernetesVersion},
		{"ClusterStatus", "status.clusterManager", binnacle.SelectorClusterManager},
		{"ClusterStatus", "spec.clusterManager.name", binnacle.SelectorClusterManager},
		{"ClusterStatus", "status.nodes", ""},
		{"ClusterStatus", "Status.phase", ""},
		{"ClusterStatus", "", ""},
		{"ClusterReport", "status.phase", ""},
		{"Rollout", "metadata.namespace", "metadata.namespace"},
		{"Rollout", "status.phase", binnacle.SelectorPhase},
		{"Rollout", "spec.output.decisionKey", binnacle.SelectorDecisionKey},
		{"Rollout", "status.clusterManager", ""},
	}
	for _, test := range tests {
		t.Run(test.kind+" "+test.label, func(t *testing.T) {
			gvk := schema.GroupVersionKind{Group: "binnacle.dev", Version: "v1alpha1", Kind: test.kind}
			label, value, err := scheme.ConvertFieldLabel(gvk, test.label, "Value")
			if test.want == "" {
				if err == nil {
					t.Errorf("accepted as %s", label)
				}
				return
			}
			if err != nil || label != test.want || value != "Value" {
				t.Errorf("got %q, %q, %v", label, value, err)
			}
		})
	}
}

// TestFieldLabelErrorSaysWhatThereIs also guards the list of selectors, which the error must not grow.
func TestFieldLabelErrorSaysWhatThereIs(t *testing.T) {
	for range 2 {
		_, _, err := binnacle.ClusterStatusFieldLabel("status.conditions", "")
		want := "field label not supported: status.conditions; supported are metadata.name, metadata.namespace, status.phase, " +
			"status.kubernetesVersion, status.clusterManager, spec.clusterManager.name"
		if err == nil || err.Error() != want {
			t.Fatalf("got %v", err)
		}
	}
}
