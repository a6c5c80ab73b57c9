package install

import (
	"bytes"
	"maps"
	"math/rand"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	apifuzzer "k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"sigs.k8s.io/randfill"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/fuzzer"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha2"
)

const iterations = 10

// sameMaps makes an empty map equal a nil one, which is what the metadata fuzzer and the encodings disagree about; lists stay exact.
var sameMaps = cmp.Comparer(maps.Equal[map[string]string, map[string]string])

// newFiller returns a filler that leaves nothing nil and no list empty, so that every field takes part in every round.
func newFiller(t *testing.T, scheme *runtime.Scheme) *randfill.Filler {
	t.Helper()
	seed := rand.Int63()
	t.Logf("seed %d", seed)
	funcs := apifuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, fuzzer.Funcs)
	return apifuzzer.FuzzerFor(funcs, rand.NewSource(seed), serializer.NewCodecFactory(scheme)).NilChance(0).NumElements(1, 3)
}

// fill returns a new object of a kind with every field filled.
func fill(t *testing.T, scheme *runtime.Scheme, filler *randfill.Filler, gvk schema.GroupVersionKind) runtime.Object {
	t.Helper()
	obj, err := scheme.New(gvk)
	if err != nil {
		t.Fatal(err)
	}
	filler.Fill(obj)
	return obj
}

func convert(t *testing.T, scheme *runtime.Scheme, obj runtime.Object, to schema.GroupVersion) runtime.Object {
	t.Helper()
	converted, err := scheme.UnsafeConvertToVersion(obj.DeepCopyObject(), to)
	if err != nil {
		t.Fatal(err)
	}
	return converted
}

func serializers(scheme *runtime.Scheme) map[string]runtime.Serializer {
	return map[string]runtime.Serializer{
		"JSON":     json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Strict: true}),
		"YAML":     json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Yaml: true, Strict: true}),
		"protobuf": protobuf.NewSerializer(scheme, scheme),
		"CBOR":     cbor.NewSerializer(scheme, scheme, cbor.Strict(true)),
	}
}

// TestFullObjectsKeepEveryField takes full objects of each version through every encoding, decoded strictly where it can be.
func TestFullObjectsKeepEveryField(t *testing.T) {
	scheme := newScheme()
	for name, codec := range serializers(scheme) {
		for _, version := range versions {
			for _, kind := range kinds {
				t.Run(name+"/"+version.Version+"/"+kind, func(t *testing.T) {
					filler, gvk := newFiller(t, scheme), version.WithKind(kind)
					for range iterations {
						want := fill(t, scheme, filler, gvk)
						want.GetObjectKind().SetGroupVersionKind(gvk)
						var wire bytes.Buffer
						if err := codec.Encode(want, &wire); err != nil {
							t.Fatal(err)
						}
						got, _, err := codec.Decode(wire.Bytes(), nil, nil)
						if err != nil {
							t.Fatalf("%v\n%s", err, wire.String())
						}
						if diff := cmp.Diff(want, got, sameMaps); diff != "" {
							t.Fatalf("changed on the way (-before +after):\n%s", diff)
						}
					}
				})
			}
		}
	}
}

// TestConversionKeepsEveryField says of each way between the versions what comes back.
func TestConversionKeepsEveryField(t *testing.T) {
	internal := multicluster.SchemeGroupVersion
	tests := []struct {
		name string
		path []schema.GroupVersion
		// drop removes from the original what is lost on the path.
		drop func(runtime.Object)
	}{
		{name: "v1alpha1 through internal", path: []schema.GroupVersion{v1alpha1.SchemeGroupVersion, internal, v1alpha1.SchemeGroupVersion}},
		{name: "v1alpha2 through internal", path: []schema.GroupVersion{v1alpha2.SchemeGroupVersion, internal, v1alpha2.SchemeGroupVersion}},
		{name: "v1alpha2 through v1alpha1", path: []schema.GroupVersion{
			v1alpha2.SchemeGroupVersion, internal, v1alpha1.SchemeGroupVersion, internal, v1alpha2.SchemeGroupVersion}},
		{name: "v1alpha1 through v1alpha2 loses only what v1alpha2 lacks", drop: dropWhatV1alpha2Lacks, path: []schema.GroupVersion{
			v1alpha1.SchemeGroupVersion, internal, v1alpha2.SchemeGroupVersion, internal, v1alpha1.SchemeGroupVersion}},
	}
	scheme := newScheme()
	for _, test := range tests {
		for _, kind := range kinds {
			t.Run(test.name+"/"+kind, func(t *testing.T) {
				filler := newFiller(t, scheme)
				for range iterations {
					want := fill(t, scheme, filler, test.path[0].WithKind(kind))
					got := want
					for _, step := range test.path[1:] {
						got = convert(t, scheme, got, step)
					}
					if test.drop != nil {
						test.drop(want)
					}
					got.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
					if diff := cmp.Diff(want, got, sameMaps); diff != "" {
						t.Fatalf("changed on the way (-before +after):\n%s", diff)
					}
				}
			})
		}
	}
}

func dropWhatV1alpha2Lacks(obj runtime.Object) {
	var profiles []*v1alpha1.ClusterProfile
	switch typed := obj.(type) {
	case *v1alpha1.ClusterProfile:
		profiles = append(profiles, typed)
	case *v1alpha1.ClusterProfileList:
		for i := range typed.Items {
			profiles = append(profiles, &typed.Items[i])
		}
	}
	for _, profile := range profiles {
		profile.Status.CredentialProviders = nil
		for i := range profile.Status.AccessProviders {
			profile.Status.AccessProviders[i].Cluster.CertificateAuthority = ""
		}
	}
}

// TestFillerFillsEveryField guards the two tests above: a field that the filler never sets would pass them unseen.
func TestFillerFillsEveryField(t *testing.T) {
	scheme := newScheme()
	for _, version := range versions {
		for _, kind := range []string{"ClusterProfile", "PlacementDecision"} {
			t.Run(version.Version+"/"+kind, func(t *testing.T) {
				filler := newFiller(t, scheme)
				set, seen := map[string]bool{}, map[string]bool{}
				for range iterations {
					value := reflect.ValueOf(fill(t, scheme, filler, version.WithKind(kind))).Elem()
					for i := range value.NumField() {
						if name := value.Type().Field(i).Name; name != "TypeMeta" && name != "ObjectMeta" {
							collect(name, value.Field(i), set, seen)
						}
					}
				}
				for path := range seen {
					if !set[path] {
						t.Errorf("%s is never filled", path)
					}
				}
			})
		}
	}
}

// collect notes the path of every field below value in seen, and in set where it is not zero.
func collect(path string, value reflect.Value, set, seen map[string]bool) {
	seen[path] = true
	if value.IsZero() {
		return
	}
	set[path] = true
	switch value.Kind() {
	case reflect.Pointer:
		collect(path, value.Elem(), set, seen)
	case reflect.Slice:
		for i := range value.Len() {
			collect(path+"[]", value.Index(i), set, seen)
		}
	case reflect.Struct:
		for i := range value.NumField() {
			// What is not exported belongs to another package; RawExtension.Object is never set in a versioned object.
			if f := value.Type().Field(i); f.IsExported() && f.Type != reflect.TypeFor[runtime.Object]() {
				collect(path+"."+f.Name, value.Field(i), set, seen)
			}
		}
	}
}
