package apiserver

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	basecompatibility "k8s.io/component-base/compatibility"
	baseversion "k8s.io/component-base/version"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	binnaclev1alpha1 "github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
)

// storageConfig is a generic config with the storage that the options make, over an etcd that nobody asks.
func storageConfig(t *testing.T) *genericapiserver.Config {
	t.Helper()
	etcd := genericoptions.NewRecommendedOptions(EtcdPrefix, nil).Etcd
	etcd.DefaultStorageMediaType = runtime.ContentTypeProtobuf
	etcd.StorageConfig.Transport.ServerList = []string{"http://127.0.0.1:1"}
	etcd.SkipHealthEndpoints = true
	config := genericapiserver.NewConfig(Codecs)
	config.EffectiveVersion = basecompatibility.NewEffectiveVersionFromString(baseversion.DefaultKubeBinaryVersion, "", "")
	config.MergedResourceConfig = DefaultResources()
	if err := ApplyStorage(etcd, true, config); err != nil {
		t.Fatal(err)
	}
	return config
}

// TestWhereObjectsLie pins the keys in etcd and the version and encoding of what lies there: to change either is a migration.
func TestWhereObjectsLie(t *testing.T) {
	config := storageConfig(t)
	tests := []struct {
		resource schema.GroupResource
		object   runtime.Object
		key      string
		kind     schema.GroupVersionKind
	}{
		{multicluster.Resource("clusterprofiles"), &multicluster.ClusterProfile{Spec: multicluster.ClusterProfileSpec{ClusterManager: multicluster.ClusterManager{Name: ptr.To("a")}}},
			"multicluster.x-k8s.io/clusterprofiles", v1alpha1.SchemeGroupVersion.WithKind("ClusterProfile")},
		{multicluster.Resource("placementdecisions"), &multicluster.PlacementDecision{Decisions: multicluster.ClusterDecisions{}},
			"multicluster.x-k8s.io/placementdecisions", v1alpha1.SchemeGroupVersion.WithKind("PlacementDecision")},
		{binnacle.Resource("rollouts"), &binnacle.Rollout{Spec: binnacle.RolloutSpec{
			Output: binnacle.RolloutOutput{SchedulerName: "s"}, Drift: binnacle.DriftFollow, Disconnected: binnacle.DisconnectedHold,
			Progression: binnacle.ProgressionManual, FailureBudget: &binnacle.RolloutBudget{Count: ptr.To[int32](1)}}},
			"binnacle.dev/rollouts", binnaclev1alpha1.SchemeGroupVersion.WithKind("Rollout")},
	}
	if len(stored) != len(tests) {
		t.Errorf("%d resources are stored, and %d tested", len(stored), len(tests))
	}
	for _, test := range tests {
		t.Run(test.resource.String(), func(t *testing.T) {
			options, err := config.RESTOptionsGetter.GetRESTOptions(test.resource, test.object)
			if err != nil {
				t.Fatal(err)
			}
			if options.StorageConfig.Prefix != "/registry/binnacle" || options.ResourcePrefix != test.key {
				t.Errorf("keys lie under %s/%s", options.StorageConfig.Prefix, options.ResourcePrefix)
			}
			codec := options.StorageConfig.Codec
			data, err := runtime.Encode(codec, test.object)
			if err != nil {
				t.Fatal(err)
			}
			unknown := runtime.Unknown{}
			if len(data) < 4 || string(data[:4]) != "k8s\x00" {
				t.Fatalf("stored as %.40q, want protobuf", data)
			}
			if err := unknown.Unmarshal(data[4:]); err != nil {
				t.Fatal(err)
			}
			if got := schema.FromAPIVersionAndKind(unknown.APIVersion, unknown.Kind); got != test.kind {
				t.Errorf("stored as %v, want %v", got, test.kind)
			}
			back, err := runtime.Decode(codec, data)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.object, back); diff != "" {
				t.Errorf("(-stored +read):\n%s", diff)
			}
		})
	}
}

// TestStoredVersionsAreServed keeps an object from being stored in a version that its readers cannot ask for.
func TestStoredVersionsAreServed(t *testing.T) {
	for resource, version := range stored {
		if resource.Group != version.Group || !DefaultResources().ResourceEnabled(version.WithResource(resource.Resource)) {
			t.Errorf("%s is stored as %s", resource, version)
		}
	}
}
