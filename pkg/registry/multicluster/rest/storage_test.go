package rest

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/install"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha2"
)

// optionsGetter gives each resource the storage of the decorator, in the version and under the key that the server uses.
type optionsGetter struct {
	config    storagebackend.Config
	decorator generic.StorageDecorator
}

func (g optionsGetter) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	return generic.RESTOptions{
		StorageConfig:  g.config.ForResource(resource),
		Decorator:      g.decorator,
		ResourcePrefix: resource.Group + "/" + resource.Resource,
	}, nil
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	return scheme
}

func noStorage(*storagebackend.ConfigForResource, string, func(runtime.Object) (string, error), func() runtime.Object, func() runtime.Object,
	storage.AttrFunc, storage.IndexerFuncs, *cache.Indexers) (storage.Interface, factory.DestroyFunc, error) {
	return nil, func() {}, nil
}

func served(t *testing.T, enabled *serverstorage.ResourceConfig) map[string]map[string]rest.Storage {
	t.Helper()
	scheme := newScheme()
	codec := serializer.NewCodecFactory(scheme).LegacyCodec(v1alpha1.SchemeGroupVersion)
	storages, _, err := NewStorage(scheme, enabled, optionsGetter{*storagebackend.NewDefaultConfig("/test", codec), noStorage})
	if err != nil {
		t.Fatal(err)
	}
	return storages
}

func everything() *serverstorage.ResourceConfig {
	enabled := serverstorage.NewResourceConfig()
	enabled.EnableVersions(Versions...)
	return enabled
}

func TestWhatIsServed(t *testing.T) {
	all := []string{"clusterprofiles", "clusterprofiles/status", "placementdecisions"}
	tests := []struct {
		name   string
		change func(*serverstorage.ResourceConfig)
		want   map[string][]string
	}{
		{"everything", func(*serverstorage.ResourceConfig) {}, map[string][]string{"v1alpha1": all, "v1alpha2": all}},
		{"one version", func(c *serverstorage.ResourceConfig) { c.DisableVersions(v1alpha1.SchemeGroupVersion) }, map[string][]string{"v1alpha2": all}},
		{"a resource of one version less", func(c *serverstorage.ResourceConfig) {
			c.DisableResources(v1alpha2.SchemeGroupVersion.WithResource("clusterprofiles"))
		}, map[string][]string{"v1alpha1": all, "v1alpha2": {"placementdecisions"}}},
		{"one version without resources", func(c *serverstorage.ResourceConfig) {
			c.DisableResources(v1alpha1.SchemeGroupVersion.WithResource("clusterprofiles"), v1alpha1.SchemeGroupVersion.WithResource("placementdecisions"))
		}, map[string][]string{"v1alpha2": all}},
		{"nothing", func(c *serverstorage.ResourceConfig) { c.DisableVersions(Versions...) }, map[string][]string{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			enabled := everything()
			test.change(enabled)
			got := map[string][]string{}
			for version, resources := range served(t, enabled) {
				got[version] = slices.Sorted(maps.Keys(resources))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestVersionsShareOneStore keeps two caches of the same objects from coming to be.
func TestVersionsShareOneStore(t *testing.T) {
	storages := served(t, everything())
	for name, resource := range storages["v1alpha1"] {
		if storages["v1alpha2"][name] != resource {
			t.Errorf("%s has a storage for each version", name)
		}
	}
}

// TestWhatDiscoverySays is about the answers that discovery takes from a storage.
func TestWhatDiscoverySays(t *testing.T) {
	storages := served(t, everything())["v1alpha1"]
	type discovered struct {
		Singular   string
		ShortNames []string
		Categories []string
		Namespaced bool
	}
	got := map[string]discovered{}
	for name, resource := range storages {
		d := discovered{}
		if s, ok := resource.(rest.SingularNameProvider); ok {
			d.Singular = s.GetSingularName()
		}
		if s, ok := resource.(rest.ShortNamesProvider); ok {
			d.ShortNames = s.ShortNames()
		}
		if s, ok := resource.(rest.CategoriesProvider); ok {
			d.Categories = s.Categories()
		}
		if s, ok := resource.(rest.Scoper); ok {
			d.Namespaced = s.NamespaceScoped()
		}
		got[name] = d
	}
	want := map[string]discovered{
		"clusterprofiles":        {"clusterprofile", []string{"cp"}, []string{"multicluster"}, true},
		"placementdecisions":     {"placementdecision", []string{"pd"}, []string{"multicluster"}, true},
		"clusterprofiles/status": {},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestVerbs pins the verbs of each resource, which the library reads off the interfaces of its storage.
func TestVerbs(t *testing.T) {
	verbs := map[string]func(rest.Storage) bool{
		"create":           func(s rest.Storage) bool { _, ok := s.(rest.Creater); return ok },
		"delete":           func(s rest.Storage) bool { _, ok := s.(rest.GracefulDeleter); return ok },
		"deletecollection": func(s rest.Storage) bool { _, ok := s.(rest.CollectionDeleter); return ok },
		"get":              func(s rest.Storage) bool { _, ok := s.(rest.Getter); return ok },
		"list":             func(s rest.Storage) bool { _, ok := s.(rest.Lister); return ok },
		"patch":            func(s rest.Storage) bool { _, ok := s.(rest.Patcher); return ok },
		"update":           func(s rest.Storage) bool { _, ok := s.(rest.Updater); return ok },
		"watch":            func(s rest.Storage) bool { _, ok := s.(rest.Watcher); return ok },
	}
	all := slices.Sorted(maps.Keys(verbs))
	want := map[string][]string{"clusterprofiles": all, "placementdecisions": all, "clusterprofiles/status": {"get", "patch", "update"}}
	got := map[string][]string{}
	for name, resource := range served(t, everything())["v1alpha1"] {
		for _, verb := range all {
			if verbs[verb](resource) {
				got[name] = append(got[name], verb)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
