package clusterprofile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
)

// TestStatusUpdateKeepsEverythingElse changes all that is not status as well, and finds none of it.
func TestStatusUpdateKeepsEverythingElse(t *testing.T) {
	for _, version := range bothVersions {
		t.Run(version, func(t *testing.T) {
			ctx, _ := in(t, version, "status")
			old, profile := stored(), stored()
			profile.Spec.DisplayName, profile.Spec.ClusterManager.Name = "Other", ptr.To("other")
			profile.Labels, profile.Annotations, profile.Finalizers = nil, map[string]string{"a": "b"}, []string{"example.com/mine"}
			profile.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "y"}}
			profile.Generation = 99
			profile.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "writer", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status"}}
			profile.Status.Properties[0].Value = "16"
			want := stored()
			want.Status.Properties[0].Value = "16"
			want.ManagedFields = profile.ManagedFields
			if err := rest.BeforeUpdate(statusStrategy{main}, ctx, profile, old); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, profile); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(stored(), old); diff != "" {
				t.Errorf("the old object was changed:\n%s", diff)
			}
		})
	}
}

// TestStatusUpdateKeepsWhatTheVersionLacks writes the status in each version. A client of v1alpha2 sends neither credential providers nor
// CA files, since it has no fields for them.
func TestStatusUpdateKeepsWhatTheVersionLacks(t *testing.T) {
	old := stored().Status
	providers := func(list ...multicluster.AccessProvider) []multicluster.AccessProvider { return list }
	tests := []struct {
		name, version string
		sent          multicluster.ClusterProfileStatus
		credentials   []multicluster.AccessProvider
		access        []multicluster.AccessProvider
	}{
		{name: "all remain", version: "v1alpha2", sent: multicluster.ClusterProfileStatus{AccessProviders: providers(provider("a", ""), provider("b", ""))},
			credentials: old.CredentialProviders, access: old.AccessProviders},
		{name: "another order", version: "v1alpha2", sent: multicluster.ClusterProfileStatus{AccessProviders: providers(provider("b", ""), provider("a", ""))},
			credentials: old.CredentialProviders, access: providers(provider("b", "/b.crt"), provider("a", "/a.crt"))},
		{name: "one removed", version: "v1alpha2", sent: multicluster.ClusterProfileStatus{AccessProviders: providers(provider("b", ""))},
			credentials: old.CredentialProviders, access: providers(provider("b", "/b.crt"))},
		{name: "one added", version: "v1alpha2", sent: multicluster.ClusterProfileStatus{AccessProviders: providers(provider("a", ""), provider("c", ""))},
			credentials: old.CredentialProviders, access: providers(provider("a", "/a.crt"), provider("c", ""))},
		{name: "status emptied", version: "v1alpha2", credentials: old.CredentialProviders},
		{name: "all remain", version: "v1alpha1", sent: old, credentials: old.CredentialProviders, access: old.AccessProviders},
		{name: "CA file removed", version: "v1alpha1", sent: multicluster.ClusterProfileStatus{AccessProviders: providers(provider("a", ""))},
			access: providers(provider("a", ""))},
		{name: "status emptied", version: "v1alpha1"},
	}
	for _, test := range tests {
		t.Run(test.version+"/"+test.name, func(t *testing.T) {
			ctx, _ := in(t, test.version, "status")
			profile := stored()
			test.sent.DeepCopyInto(&profile.Status)
			if err := rest.BeforeUpdate(statusStrategy{main}, ctx, profile, stored()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.credentials, profile.Status.CredentialProviders); diff != "" {
				t.Errorf("credential providers (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.access, profile.Status.AccessProviders); diff != "" {
				t.Errorf("access providers (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("v1alpha2/removed and added again", func(t *testing.T) {
		ctx, _ := in(t, "v1alpha2", "status")
		before, without := stored(), stored()
		without.Status.AccessProviders = providers(provider("b", ""))
		if err := rest.BeforeUpdate(statusStrategy{main}, ctx, without, before); err != nil {
			t.Fatal(err)
		}
		again := without.DeepCopy()
		again.Status.AccessProviders = providers(provider("b", ""), provider("a", ""))
		if err := rest.BeforeUpdate(statusStrategy{main}, ctx, again, without); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(providers(provider("b", "/b.crt"), provider("a", "")), again.Status.AccessProviders); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestStatusUpdateIsValidated(t *testing.T) {
	for _, version := range bothVersions {
		t.Run(version, func(t *testing.T) {
			ctx, _ := in(t, version, "status")
			profile := stored()
			profile.Status.Properties = append(profile.Status.Properties, multicluster.Property{Name: "cpu", Value: "twice"}, multicluster.Property{Name: "empty"})
			profile.Status.AccessProviders[0].Cluster.Server = nil
			invalid(t, rest.BeforeUpdate(statusStrategy{main}, ctx, profile, stored()),
				"status.properties[1]", "status.properties[2].value", "status.accessProviders[0].cluster.server")
		})
	}
}

func TestStatusWarnings(t *testing.T) {
	const deprecated = "status.credentialProviders: deprecated, and absent from v1alpha2; use status.accessProviders"
	tests := []struct {
		name, version string
		change        func(*multicluster.ClusterProfile)
		want          warnings
	}{
		{"credential providers", "v1alpha1", func(*multicluster.ClusterProfile) {}, warnings{deprecated}},
		{"access providers only", "v1alpha1", func(p *multicluster.ClusterProfile) { p.Status.CredentialProviders = nil }, warnings{}},
		{"credential providers that the client does not see", "v1alpha2", func(*multicluster.ClusterProfile) {}, warnings{}},
	}
	for _, test := range tests {
		t.Run(test.version+"/"+test.name, func(t *testing.T) {
			ctx, warned := in(t, test.version, "status")
			profile := stored()
			test.change(profile)
			if err := rest.BeforeUpdate(statusStrategy{main}, ctx, profile, stored()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, *warned); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestResetFields says, version by version, what each resource never owns in server-side apply.
func TestResetFields(t *testing.T) {
	tests := []struct {
		name     string
		strategy rest.ResetFieldsStrategy
		reset    []string
		kept     []string
	}{
		{"main", main, []string{"status"}, []string{"metadata", "spec"}},
		{"status", statusStrategy{main}, []string{"metadata", "spec"}, []string{"status"}},
	}
	for _, test := range tests {
		sets := test.strategy.GetResetFields()
		if len(sets) != 2 {
			t.Errorf("%s: versions %v", test.name, sets)
		}
		for _, version := range bothVersions {
			t.Run(test.name+"/"+version, func(t *testing.T) {
				set, ok := sets[fieldpath.APIVersion("multicluster.x-k8s.io/"+version)]
				if !ok {
					t.Fatal("no fields for the version")
				}
				for _, field := range test.reset {
					if !set.Has(fieldpath.MakePathOrDie(field)) {
						t.Errorf("%s is not reset", field)
					}
				}
				for _, field := range test.kept {
					if set.Has(fieldpath.MakePathOrDie(field)) {
						t.Errorf("%s is reset", field)
					}
				}
			})
		}
	}
}
