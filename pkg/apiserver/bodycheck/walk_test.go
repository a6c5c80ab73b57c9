package bodycheck_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/apiserver"
	"github.com/binnacle-dev/binnacle/pkg/apiserver/bodycheck"
)

// TestWhatDecodingHides sends bodies that decode without an error, though a custom resource would be refused for them.
func TestWhatDecodingHides(t *testing.T) {
	const first = "status.accessProviders[0].cluster."
	provider := func(content string) string {
		return status(`"accessProviders":[{"name":"b","cluster":{"server":"https://b",` + content + `}}]`)
	}
	tests := []struct {
		name, kind, body string
		want             []string
	}{
		{"property name sent empty", "ClusterProfile", status(`"properties":[{"name":"","value":"x"}]`), []string{"FieldValueInvalid status.properties[0].name"}},
		{"property value sent empty", "ClusterProfile", status(`"properties":[{"name":"x","value":""}]`), []string{"FieldValueInvalid status.properties[0].value"}},
		{"property null", "ClusterProfile", status(`"properties":[null]`), []string{typeInvalid + "status.properties[0]"}},
		{"provider null", "ClusterProfile", status(`"accessProviders":[null]`), []string{typeInvalid + "status.accessProviders[0]"}},
		{"decision null", "PlacementDecision", decision(`,"decisions":[null]`), []string{typeInvalid + "decisions[0]"}},
		{"CA data sent empty", "ClusterProfile", provider(`"certificate-authority-data":""`), []string{typeInvalid + first + "certificate-authority-data"}},
		{"CA data null", "ClusterProfile", provider(`"certificate-authority-data":null`), nil},
		{"several, in the order of the fields", "ClusterProfile", status(`"properties":[{"value":"x"}],"accessProviders":[{"cluster":{}},{"name":"a"},{}]`), []string{
			required + "status.accessProviders[0].cluster.server", required + "status.accessProviders[0].name",
			required + "status.accessProviders[2].name", required + "status.properties[0].name"}},
		{"what an extension holds is free", "ClusterProfile", provider(`"extensions":[{"name":"","extension":{"name":"","server":null,"list":[null]}}]`), nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, found, err := decode(t, runtime.ContentTypeJSON, false, "v1alpha1", test.kind, []byte(test.body))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, brief(found)); diff != "" {
				t.Errorf("findings (-want +got):\n%s%v", diff, found)
			}
		})
	}
}

// flaky is a resolver that fails at first.
type flaky struct {
	counter
	failures int
}

func (f *flaky) ResolveSchema(gvk schema.GroupVersionKind) (*spec.Schema, error) {
	if f.failures > 0 {
		f.failures--
		return nil, errors.New("not yet")
	}
	return f.counter.ResolveSchema(gvk)
}

func TestCached(t *testing.T) {
	inner := &flaky{failures: 1}
	cached := bodycheck.Cached(inner)
	profiles := schema.GroupVersionKind{Group: multicluster.GroupName, Version: "v1alpha1", Kind: "ClusterProfile"}
	if _, err := cached.ResolveSchema(profiles); err == nil {
		t.Fatal("the error is lost")
	}
	first, err := cached.ResolveSchema(profiles)
	if err != nil {
		t.Fatalf("the error was kept: %v", err)
	}
	for range 3 {
		if again, err := cached.ResolveSchema(profiles); err != nil || again != first {
			t.Errorf("another schema, %v", err)
		}
	}
	other := profiles
	other.Version = "v1alpha2"
	if second, err := cached.ResolveSchema(other); err != nil || second == first {
		t.Errorf("the same schema for another version, %v", err)
	}
	if inner.asked != 2 {
		t.Errorf("asked %d times, want 2", inner.asked)
	}
}

// TestCheckingIsConcurrent shares the schemas between requests: whoever changes one is seen by the others, and by the race detector.
func TestCheckingIsConcurrent(t *testing.T) {
	serializer := bodycheck.Serializer{NegotiatedSerializer: apiserver.Codecs, Schemas: bodycheck.Cached(schemas)}
	info, _ := runtime.SerializerInfoForMediaType(apiserver.Codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	decoder := serializer.DecoderToVersion(info.Serializer, multicluster.SchemeGroupVersion)
	defaults := schema.GroupVersionKind{Group: multicluster.GroupName, Version: "v1alpha1", Kind: "ClusterProfile"}
	bodies := map[string]string{ // by the field that is found
		"spec.displayName":         profile(`"spec":{"displayName":5,"clusterManager":{"name":"m"}}`),
		"spec.clusterManager.name": profile(`"spec":{"clusterManager":{}}`),
	}
	var group sync.WaitGroup
	for range 4 {
		for field, body := range bodies {
			group.Go(func() {
				for range 20 {
					obj, _, err := decoder.Decode([]byte(body), &defaults, &multicluster.ClusterProfile{})
					if err != nil {
						t.Errorf("%s: %v", field, err)
						return
					}
					found := obj.(*multicluster.ClusterProfile).GetMalformed()
					if found == nil || len(found.Errors) != 1 || found.Errors[0].Field != field {
						t.Errorf("%s: findings %v", field, found)
						return
					}
				}
			})
		}
	}
	group.Wait()
}
