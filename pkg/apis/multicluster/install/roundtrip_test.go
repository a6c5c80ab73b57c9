package install

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/apitesting/roundtrip"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/fuzzer"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha2"
)

var (
	versions = []schema.GroupVersion{v1alpha1.SchemeGroupVersion, v1alpha2.SchemeGroupVersion}
	kinds    = []string{"ClusterProfile", "ClusterProfileList", "PlacementDecision", "PlacementDecisionList"}
)

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	Install(scheme)
	return scheme
}

// TestRoundTrip takes random internal objects through JSON of each served version.
func TestRoundTrip(t *testing.T) {
	roundtrip.RoundTripTestForAPIGroup(t, Install, fuzzer.Funcs)
}

// TestRoundTripProtobuf takes random internal objects through protobuf of each served version.
func TestRoundTripProtobuf(t *testing.T) {
	roundtrip.RoundTripProtobufTestForAPIGroup(t, Install, fuzzer.Funcs)
}

// TestRoundTripUnstructured takes random objects of each served version, every field included, through unstructured JSON and CBOR.
func TestRoundTripUnstructured(t *testing.T) {
	scheme := newScheme()
	ours, others := sets.New[schema.GroupVersionKind](), sets.New[schema.GroupVersionKind]()
	for gvk := range scheme.AllKnownTypes() {
		others.Insert(gvk)
	}
	for _, version := range versions {
		for _, kind := range kinds {
			ours.Insert(version.WithKind(kind))
		}
	}
	if missing := ours.Difference(others); len(missing) > 0 {
		t.Fatalf("not registered: %v", missing.UnsortedList())
	}
	roundtrip.RoundtripToUnstructured(t, scheme, fuzzer.Funcs, others.Difference(ours), ours)
}

// TestVersionPriority pins what discovery prefers, and that nothing but the two versions is served.
func TestVersionPriority(t *testing.T) {
	got := newScheme().PrioritizedVersionsForGroup(v1alpha1.GroupName)
	want := []schema.GroupVersion{v1alpha2.SchemeGroupVersion, v1alpha1.SchemeGroupVersion}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("versions by priority: %v, want %v", got, want)
	}
}
