package install

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/apitesting/roundtrip"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/fuzzer"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

var kinds = []string{"ClusterStatus", "ClusterStatusList", "ClusterReport", "Rollout", "RolloutList", "RolloutAction", "RolloutFeedback", "RolloutPreview"}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	Install(scheme)
	return scheme
}

// TestRoundTrip takes random internal objects through JSON of the served version.
func TestRoundTrip(t *testing.T) {
	roundtrip.RoundTripTestForAPIGroup(t, Install, fuzzer.Funcs)
}

// TestRoundTripProtobuf takes random internal objects through protobuf of the served version.
func TestRoundTripProtobuf(t *testing.T) {
	roundtrip.RoundTripProtobufTestForAPIGroup(t, Install, fuzzer.Funcs)
}

// TestRoundTripUnstructured takes random objects of the served version, every field included, through unstructured JSON and CBOR.
func TestRoundTripUnstructured(t *testing.T) {
	scheme := newScheme()
	ours, others := sets.New[schema.GroupVersionKind](), sets.New[schema.GroupVersionKind]()
	for gvk := range scheme.AllKnownTypes() {
		others.Insert(gvk)
	}
	for _, kind := range kinds {
		ours.Insert(v1alpha1.SchemeGroupVersion.WithKind(kind))
	}
	if missing := ours.Difference(others); len(missing) > 0 {
		t.Fatalf("not registered: %v", missing.UnsortedList())
	}
	roundtrip.RoundtripToUnstructured(t, scheme, fuzzer.Funcs, others.Difference(ours), ours)
}

// TestVersionPriority pins that nothing but the one version is served.
func TestVersionPriority(t *testing.T) {
	got := newScheme().PrioritizedVersionsForGroup(v1alpha1.GroupName)
	if len(got) != 1 || got[0] != v1alpha1.SchemeGroupVersion {
		t.Errorf("versions by priority: %v", got)
	}
}
