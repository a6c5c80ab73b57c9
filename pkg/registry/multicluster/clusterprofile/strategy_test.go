package clusterprofile

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/install"
	"github.com/binnacle-dev/binnacle/pkg/registry/store"
)

var testScheme = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	return scheme
}()

var main = strategy{store.NewStrategy(testScheme)}

// warnings collects what a client would be warned of.
type warnings []string

func (w *warnings) AddWarning(_, text string) { *w = append(*w, text) }

// in returns the context of a request in a version, and what it will have been warned of.
func in(t *testing.T, version, subresource string) (context.Context, *warnings) {
	t.Helper()
	warned := &warnings{}
	ctx := request.WithNamespace(t.Context(), "fleet")
	ctx = request.WithRequestInfo(ctx, &request.RequestInfo{IsResourceRequest: true, APIGroup: multicluster.GroupName,
		APIVersion: version, Resource: "clusterprofiles", Subresource: subresource})
	return warning.WithWarningRecorder(ctx, warned), warned
}

var bothVersions = []string{"v1alpha1", "v1alpha2"}

func newProfile() *multicluster.ClusterProfile {
	return &multicluster.ClusterProfile{
		ObjectMeta: metav1.ObjectMeta{Name: "atlas", Namespace: "fleet"},
		Spec:       multicluster.ClusterProfileSpec{DisplayName: "Atlas", ClusterManager: multicluster.ClusterManager{Name: ptr.To("fleet-manager")}},
	}
}

// stored is a profile as it comes from etcd.
func stored() *multicluster.ClusterProfile {
	profile := newProfile()
	profile.UID, profile.ResourceVersion, profile.Generation = "uid", "7", 3
	profile.Labels = map[string]string{"env": "prod"}
	profile.Annotations = map[string]string{"ticket": "1"}
	profile.Finalizers = []string{"example.com/drain"}
	profile.Status = multicluster.ClusterProfileStatus{
		Version:    multicluster.ClusterVersion{Kubernetes: "v1.37.2"},
		Properties: []multicluster.Property{{Name: "cpu", Value: "8"}},
		CredentialProviders: []multicluster.AccessProvider{
			{Name: ptr.To("legacy"), Cluster: &multicluster.Cluster{Server: ptr.To("https://old.example.com"), CertificateAuthority: "/old.crt"}},
		},
		AccessProviders: []multicluster.AccessProvider{provider("a", "/a.crt"), provider("b", "/b.crt")},
	}
	return profile
}

func provider(name, caFile string) multicluster.AccessProvider {
	return multicluster.AccessProvider{Name: &name, Cluster: &multicluster.Cluster{Server: ptr.To("https://" + name + ".example.com"), CertificateAuthority: caFile}}
}

// invalid fails the test unless an error is 422 and names every field.
func invalid(t *testing.T, err error, fields ...string) {
	t.Helper()
	if !apierrors.IsInvalid(err) {
		t.Fatalf("error %v, want Invalid", err)
	}
	for _, field := range fields {
		if !strings.Contains(err.Error(), field+":") {
			t.Errorf("%q does not name %s", err, field)
		}
	}
}

// create prepares and checks a new profile as the generic store does.
func create(ctx context.Context, profile *multicluster.ClusterProfile) error {
	rest.FillObjectMetaSystemFields(profile)
	if profile.Name == "" && profile.GenerateName != "" {
		profile.Name = main.GenerateName(profile.GenerateName)
	}
	return rest.BeforeCreate(main, ctx, profile)
}

func TestCreate(t *testing.T) {
	for _, version := range bothVersions {
		t.Run(version, func(t *testing.T) {
			ctx, warned := in(t, version, "")
			profile := newProfile()
			profile.Generation = 41
			profile.Status = stored().Status
			if err := create(ctx, profile); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(multicluster.ClusterProfileStatus{}, profile.Status); diff != "" {
				t.Errorf("the status is not dropped:\n%s", diff)
			}
			if profile.Generation != 1 {
				t.Errorf("generation %d, want 1", profile.Generation)
			}
			if len(*warned) > 0 {
				t.Errorf("warnings %q", *warned)
			}
		})
	}
}

func TestCreateIsRefused(t *testing.T) {
	tests := []struct {
		name    string
		version string
		change  func(*multicluster.ClusterProfile)
		fields  []string
	}{
		{"no name", "v1alpha1", func(p *multicluster.ClusterProfile) { p.Name = "" }, []string{"metadata.name"}},
		{"name in capitals", "v1alpha1", func(p *multicluster.ClusterProfile) { p.Name = "Atlas" }, []string{"metadata.name"}},
		{"name of 254", "v1alpha1", func(p *multicluster.ClusterProfile) { p.Name = strings.Repeat("a", 254) }, []string{"metadata.name"}},
		{"bad label", "v1alpha1", func(p *multicluster.ClusterProfile) { p.Labels = map[string]string{"-": "x"} }, []string{"metadata.labels"}},
		{"no manager", "v1alpha1", func(p *multicluster.ClusterProfile) { p.Spec.ClusterManager.Name = nil }, []string{"spec.clusterManager.name"}},
		{"no manager", "v1alpha2", func(p *multicluster.ClusterProfile) { p.Spec.ClusterManager.Name = nil }, []string{"spec.clusterManager.name"}},
		{"empty manager", "v1alpha2", func(p *multicluster.ClusterProfile) { p.Spec.ClusterManager.Name = ptr.To("") }, []string{"spec.clusterManager.name"}},
		{"two things at once", "v1alpha2", func(p *multicluster.ClusterProfile) { p.Name, p.Spec.ClusterManager.Name = "A", nil },
			[]string{"metadata.name", "spec.clusterManager.name"}},
	}
	for _, test := range tests {
		t.Run(test.version+"/"+test.name, func(t *testing.T) {
			ctx, _ := in(t, test.version, "")
			profile := newProfile()
			test.change(profile)
			invalid(t, create(ctx, profile), test.fields...)
		})
	}
}

func TestCreateWithLeniency(t *testing.T) {
	ctx, _ := in(t, "v1alpha1", "")
	profile := newProfile()
	profile.Spec.ClusterManager.Name = ptr.To("")
	profile.Name, profile.GenerateName = "", "at-"
	if err := create(ctx, profile); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(profile.Name, "at-") || len(profile.Name) <= len("at-") {
		t.Errorf("generated name %q", profile.Name)
	}
}

func TestUpdate(t *testing.T) {
	tests := []struct {
		name       string
		change     func(*multicluster.ClusterProfile)
		generation int64
	}{
		{"nothing", func(*multicluster.ClusterProfile) {}, 3},
		{"label", func(p *multicluster.ClusterProfile) { p.Labels["env"] = "test" }, 3},
		{"annotation", func(p *multicluster.ClusterProfile) { p.Annotations = nil }, 3},
		{"display name", func(p *multicluster.ClusterProfile) { p.Spec.DisplayName = "Other" }, 4},
		{"generation sent by the client", func(p *multicluster.ClusterProfile) { p.Generation = 99 }, 3},
		{"status", func(p *multicluster.ClusterProfile) { p.Status = multicluster.ClusterProfileStatus{} }, 3},
		{"status and spec", func(p *multicluster.ClusterProfile) {
			p.Spec.DisplayName = ""
			p.Status.Properties[0].Value = "16"
		}, 4},
	}
	for _, test := range tests {
		for _, version := range bothVersions {
			t.Run(test.name+"/"+version, func(t *testing.T) {
				ctx, warned := in(t, version, "")
				old, profile := stored(), stored()
				test.change(profile)
				want := profile.DeepCopy()
				want.Generation, want.Status = test.generation, stored().Status
				if err := rest.BeforeUpdate(main, ctx, profile, old); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, profile); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(stored(), old); diff != "" {
					t.Errorf("the old object was changed:\n%s", diff)
				}
				if len(*warned) > 0 {
					t.Errorf("warnings %q", *warned)
				}
			})
		}
	}
}

func TestUpdateIsRefused(t *testing.T) {
	tests := []struct {
		name   string
		change func(*multicluster.ClusterProfile)
		field  string
	}{
		{"another manager", func(p *multicluster.ClusterProfile) { p.Spec.ClusterManager.Name = ptr.To("other") }, "spec.clusterManager"},
		{"manager removed", func(p *multicluster.ClusterProfile) { p.Spec.ClusterManager.Name = nil }, "spec.clusterManager.name"},
		{"no resourceVersion", func(p *multicluster.ClusterProfile) { p.ResourceVersion = "" }, "metadata.resourceVersion"},
		{"another UID", func(p *multicluster.ClusterProfile) { p.UID = "other" }, "metadata.uid"},
		{"bad label", func(p *multicluster.ClusterProfile) { p.Labels = map[string]string{"-": "x"} }, "metadata.labels"},
	}
	for _, test := range tests {
		for _, version := range bothVersions {
			t.Run(test.name+"/"+version, func(t *testing.T) {
				ctx, _ := in(t, version, "")
				profile := stored()
				test.change(profile)
				invalid(t, rest.BeforeUpdate(main, ctx, profile, stored()), test.field)
			})
		}
	}
}

// TestPolicies pins how the generic store treats writes of ours, where the wrong answer would lose updates.
func TestPolicies(t *testing.T) {
	ctx, _ := in(t, "v1alpha1", "")
	for name, s := range map[string]rest.RESTUpdateStrategy{"main": main, "status": statusStrategy{main}} {
		if !s.NamespaceScoped() || s.AllowCreateOnUpdate(ctx) || s.AllowUnconditionalUpdate(ctx) {
			t.Errorf("%s: namespaced %v, create on update %v, unconditional update %v", name,
				s.NamespaceScoped(), s.AllowCreateOnUpdate(ctx), s.AllowUnconditionalUpdate(ctx))
		}
	}
}
