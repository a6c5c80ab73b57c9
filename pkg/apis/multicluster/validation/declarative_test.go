package validation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/install"
)

var validator = func() rest.DeclarativeValidation {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	return rest.DeclarativeValidation{Scheme: scheme}
}()

// errors is what the declared rules find, by the version that the request is in.
type errors struct{ v1alpha1, v1alpha2 []string }

// both is for a rule that the versions share.
func both(found ...string) errors { return errors{found, found} }

// strict is for a rule that only v1alpha2 has.
func strict(found ...string) errors { return errors{v1alpha2: found} }

// declared runs the declared rules of each version on a new object or, where old is not nil, on a change.
func declared(t *testing.T, obj, old runtime.Object, subresource string, want errors) {
	t.Helper()
	for version, found := range map[string][]string{"v1alpha1": want.v1alpha1, "v1alpha2": want.v1alpha2} {
		ctx := request.WithRequestInfo(t.Context(), &request.RequestInfo{
			IsResourceRequest: true, APIGroup: multicluster.GroupName, APIVersion: version, Subresource: subresource})
		kind := operation.Create
		if old != nil {
			kind = operation.Update
		}
		errs := validator.ValidateDeclaratively(ctx, obj, old, nil, kind, rest.DeclarativeValidationConfig{})
		if diff := cmp.Diff(found, brief(errs), anyOrder); diff != "" {
			t.Errorf("%s: errors (-want +got):\n%s%v", version, diff, errs)
		}
	}
}

// fullProfile breaks no rule of either version.
func fullProfile() *multicluster.ClusterProfile {
	return &multicluster.ClusterProfile{
		Spec: multicluster.ClusterProfileSpec{ClusterManager: multicluster.ClusterManager{Name: ptr.To("fleet-manager")}},
		Status: multicluster.ClusterProfileStatus{
			Properties: []multicluster.Property{
				{Name: "location", Value: "Zürich", LastObservedTime: ptr.To(multicluster.Timestamp("2026-11-02T06:30:00Z"))},
				{Name: "cpu", Value: "8"},
			},
			AccessProviders: []multicluster.AccessProvider{fullProvider("kubeconfig"), fullProvider("google")},
		},
	}
}

func fullProvider(name string) multicluster.AccessProvider {
	return multicluster.AccessProvider{Name: &name, Cluster: &multicluster.Cluster{
		Server:        ptr.To("https://atlas.example.com:6443"),
		TLSServerName: "atlas.example.com",
		ProxyURL:      "http://proxy.example.com:3128",
		Extensions: []multicluster.NamedExtension{
			{Name: ptr.To("client.authentication.k8s.io/exec"), Extension: runtime.RawExtension{Raw: []byte(`{"a":1}`)}},
			{Name: ptr.To("owner"), Extension: runtime.RawExtension{Raw: []byte(`{}`)}},
		},
	}}
}

func fullDecision(clusters int) *multicluster.PlacementDecision {
	decision := &multicluster.PlacementDecision{Decisions: multicluster.ClusterDecisions{}, SchedulerName: "fleet-scheduler"}
	for range clusters {
		decision.Decisions = append(decision.Decisions, multicluster.ClusterDecision{
			ClusterProfileRef: multicluster.ClusterProfileReference{Name: ptr.To("atlas"), Namespace: ptr.To("fleet-prod")},
			Reason:            "best score",
		})
	}
	return decision
}
