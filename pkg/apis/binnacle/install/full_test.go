package install

import (
	"bytes"
	"maps"
	"math/rand"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	apifuzzer "k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/resource"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"sigs.k8s.io/randfill"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/fuzzer"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
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
func fill(t *testing.T, scheme *runtime.Scheme, filler *randfill.Filler, kind string) runtime.Object {
	t.Helper()
	obj, err := scheme.New(v1alpha1.SchemeGroupVersion.WithKind(kind))
	if err != nil {
		t.Fatal(err)
	}
	filler.Fill(obj)
	return obj
}

// TestFullObjectsKeepEveryField takes full objects through every encoding, decoded strictly where it can be.
func TestFullObjectsKeepEveryField(t *testing.T) {
	scheme := newScheme()
	for name, codec := range map[string]runtime.Serializer{
		"JSON":     json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Strict: true}),
		"YAML":     json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Yaml: true, Strict: true}),
		"protobuf": protobuf.NewSerializer(scheme, scheme),
		"CBOR":     cbor.NewSerializer(scheme, scheme, cbor.Strict(true)),
	} {
		for _, kind := range kinds {
			t.Run(name+"/"+kind, func(t *testing.T) {
				filler := newFiller(t, scheme)
				for range iterations {
					want := fill(t, scheme, filler, kind)
					want.GetObjectKind().SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(kind))
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

// TestConversionKeepsEveryField takes full objects through the internal version.
func TestConversionKeepsEveryField(t *testing.T) {
	scheme := newScheme()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			filler := newFiller(t, scheme)
			for range iterations {
				want := fill(t, scheme, filler, kind)
				internal, err := scheme.UnsafeConvertToVersion(want.DeepCopyObject(), binnacle.SchemeGroupVersion)
				if err != nil {
					t.Fatal(err)
				}
				got, err := scheme.UnsafeConvertToVersion(internal.DeepCopyObject(), v1alpha1.SchemeGroupVersion)
				if err != nil {
					t.Fatal(err)
				}
				want.GetObjectKind().SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(kind))
				if diff := cmp.Diff(want, got, sameMaps); diff != "" {
					t.Fatalf("changed on the way (-before +after):\n%s", diff)
				}
			}
		})
	}
}

// TestFillerFillsEveryField guards the two tests above: a field that the filler never sets would pass them unseen.
func TestFillerFillsEveryField(t *testing.T) {
	scheme := newScheme()
	for _, kind := range []string{"ClusterStatus", "ClusterReport", "Rollout", "RolloutAction", "RolloutFeedback", "RolloutPreview"} {
		t.Run(kind, func(t *testing.T) {
			filler := newFiller(t, scheme)
			set, seen := map[string]bool{}, map[string]bool{}
			for range iterations {
				value := reflect.ValueOf(fill(t, scheme, filler, kind)).Elem()
				for i := range value.NumField() {
					if field := value.Type().Field(i); field.Name != "TypeMeta" && field.Type != reflect.TypeFor[metav1.ObjectMeta]() {
						collect(field.Name, value.Field(i), set, seen)
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
	case reflect.Map:
		for _, key := range value.MapKeys() {
			collect(path+"{}", value.MapIndex(key), set, seen)
		}
	case reflect.Struct:
		for i := range value.NumField() {
			// The fields of an amount belong to another package.
			if f := value.Type().Field(i); f.IsExported() && value.Type() != reflect.TypeFor[resource.Quantity]() {
				collect(path+"."+f.Name, value.Field(i), set, seen)
			}
		}
	}
}

// TestReportMetadataIsNamed keeps the library from tracking the owners of fields of every report, and the wire as any other object's.
func TestReportMetadataIsNamed(t *testing.T) {
	var report any = &v1alpha1.ClusterReport{Metadata: metav1.ObjectMeta{Name: "a", Namespace: "fleet"}}
	if _, ok := report.(metav1.ObjectMetaAccessor); ok {
		t.Error("a ClusterReport has object metadata of its own, so that managedFields are computed for each report")
	}
	data, err := runtime.Encode(serializer.NewCodecFactory(newScheme()).LegacyCodec(v1alpha1.SchemeGroupVersion), report.(runtime.Object))
	want := `{"kind":"ClusterReport","apiVersion":"binnacle.dev/v1alpha1","metadata":{"name":"a","namespace":"fleet"},"spec":{}}` + "\n"
	if err != nil || string(data) != want {
		t.Errorf("%v\ngot  %swant %s", err, data, want)
	}
}
