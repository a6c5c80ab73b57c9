package bodycheck_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/apiserver"
	"github.com/binnacle-dev/binnacle/pkg/apiserver/bodycheck"
)

// schemas are the published ones.
var schemas resolver.SchemaResolver = resolver.NewDefinitionsSchemaResolver(apiserver.NewGenericConfig().OpenAPIConfig.GetDefinitions, apiserver.Scheme)

var anyOrder = cmpopts.SortSlices(func(a, b string) bool { return a < b })

// decode decodes a body as the handler of a create does, and returns what the object carries to the registry.
func decode(t *testing.T, mediaType string, strict bool, version, kind string, body []byte) (runtime.Object, field.ErrorList, error) {
	t.Helper()
	info, ok := runtime.SerializerInfoForMediaType(apiserver.Codecs.SupportedMediaTypes(), mediaType)
	if !ok {
		t.Fatalf("no serializer for %s", mediaType)
	}
	decoder := info.Serializer
	if strict {
		decoder = info.StrictSerializer
	}
	into, err := apiserver.Scheme.New(multicluster.SchemeGroupVersion.WithKind(kind))
	if err != nil {
		t.Fatal(err)
	}
	defaults := schema.GroupVersionKind{Group: multicluster.GroupName, Version: version, Kind: kind}
	serializer := bodycheck.Serializer{NegotiatedSerializer: apiserver.Codecs, Schemas: schemas}
	obj, _, err := serializer.DecoderToVersion(decoder, multicluster.SchemeGroupVersion).Decode(body, &defaults, into)
	if carrier, ok := obj.(interface {
		GetMalformed() *multicluster.Malformed
	}); ok && carrier.GetMalformed() != nil {
		return obj, carrier.GetMalformed().Errors, err
	}
	return obj, nil, err
}

func brief(errs field.ErrorList) []string {
	var told []string
	for _, err := range errs {
		told = append(told, string(err.Type)+" "+err.Field)
	}
	return told
}

const (
	typeInvalid = "FieldValueTypeInvalid "
	required    = "FieldValueRequired "
)

// profile wraps spec and status in a body of a ClusterProfile.
func profile(content string) string {
	return `{"apiVersion":"multicluster.x-k8s.io/v1alpha1","kind":"ClusterProfile","metadata":{"name":"atlas","labels":{"a":"b"}},` + content + `}`
}

func status(content string) string {
	return profile(`"spec":{"clusterManager":{"name":"m"}},"status":{` + content + `}`)
}

func decision(content string) string {
	return `{"apiVersion":"multicluster.x-k8s.io/v1alpha1","kind":"PlacementDecision","metadata":{"name":"p"}` + content + `}`
}

// TestFindings sends bodies that the Go types cannot hold, or cannot tell from sound ones, in JSON and in YAML.
func TestFindings(t *testing.T) {
	const second = `{"name":"b","cluster":{"server":"https://b"`
	tests := []struct {
		name, kind, body string
		want             []string
	}{
		{"good profile", "ClusterProfile", status(`"properties":[{"name":"a","value":"b"}]`), nil},
		{"good profile without status", "ClusterProfile", profile(`"spec":{"clusterManager":{"name":""}}`), nil},
		{"text is a number", "ClusterProfile", profile(`"spec":{"displayName":5,"clusterManager":{"name":"m"}}`), []string{typeInvalid + "spec.displayName"}},
		{"text is a boolean", "ClusterProfile", profile(`"spec":{"clusterManager":{"name":true}}`), []string{typeInvalid + "spec.clusterManager.name"}},
		{"text is a list", "ClusterProfile", profile(`"spec":{"clusterManager":{"name":["m"]}}`), []string{typeInvalid + "spec.clusterManager.name"}},
		{"object is text", "ClusterProfile", profile(`"spec":"x"`), []string{typeInvalid + "spec"}},
		{"list is an object", "ClusterProfile", status(`"properties":{}`), []string{typeInvalid + "status.properties"}},
		{"boolean is text", "ClusterProfile", status(`"accessProviders":[` + second + `,"disable-compression":"yes"}}]`),
			[]string{typeInvalid + "status.accessProviders[0].cluster.disable-compression"}},
		{"integer is a fraction", "ClusterProfile", status(`"conditions":[{"type":"A","status":"True","reason":"A","message":"","lastTransitionTime":"2026-11-02T06:30:00Z","observedGeneration":1.5}]`),
			// The second is how kube-apiserver's validator puts it once more.
			[]string{typeInvalid + "status.conditions[0].observedGeneration", "FieldValueInvalid <nil>"}},
		{"no base64", "ClusterProfile", status(`"accessProviders":[` + second + `,"certificate-authority-data":"%%"}}]`),
			[]string{typeInvalid + "status.accessProviders[0].cluster.certificate-authority-data"}},
		{"condition without a date", "ClusterProfile", status(`"conditions":[{"type":"A","status":"True","reason":"A","message":"","lastTransitionTime":"yesterday"}]`),
			[]string{typeInvalid + "status.conditions[0].lastTransitionTime"}},
		{"everything at once", "ClusterProfile", profile(`"spec":{"displayName":5},"status":{"version":{"kubernetes":1}}`),
			[]string{typeInvalid + "spec.displayName", required + "spec.clusterManager", typeInvalid + "status.version.kubernetes"}},

		{"spec missing", "ClusterProfile", profile(`"status":{}`), []string{required + "spec"}},
		{"manager missing", "ClusterProfile", profile(`"spec":{}`), []string{required + "spec.clusterManager"}},
		{"manager name missing", "ClusterProfile", profile(`"spec":{"clusterManager":{}}`), []string{required + "spec.clusterManager.name"}},
		{"manager name null", "ClusterProfile", profile(`"spec":{"clusterManager":{"name":null}}`), []string{required + "spec.clusterManager.name"}},
		{"spec null", "ClusterProfile", profile(`"spec":null`), []string{required + "spec"}},
		{"property without value", "ClusterProfile", status(`"properties":[{"name":"a"}]`), []string{required + "status.properties[0].value"}},
		{"condition without message", "ClusterProfile", status(`"conditions":[{"type":"A","status":"True","reason":"A","lastTransitionTime":"2026-11-02T06:30:00Z"}]`),
			[]string{required + "status.conditions[0].message"}},
		{"condition with an empty message", "ClusterProfile", status(`"conditions":[{"type":"A","status":"True","reason":"A","message":"","lastTransitionTime":"2026-11-02T06:30:00Z"}]`), nil},
		{"server missing", "ClusterProfile", status(`"accessProviders":[{"name":"b","cluster":{}}]`), []string{required + "status.accessProviders[0].cluster.server"}},
		{"server empty", "ClusterProfile", status(`"accessProviders":[{"name":"b","cluster":{"server":""}}]`), nil},
		{"extension missing", "ClusterProfile", status(`"accessProviders":[` + second + `,"extensions":[{"name":"e"}]}}]`),
			[]string{required + "status.accessProviders[0].cluster.extensions[0].extension"}},
		{"extension null", "ClusterProfile", status(`"accessProviders":[` + second + `,"extensions":[{"name":"e","extension":null}]}}]`),
			[]string{required + "status.accessProviders[0].cluster.extensions[0].extension"}},

		{"nulls of optional fields", "ClusterProfile", status(`"conditions":null,"version":null,"properties":[{"name":"a","value":"b","lastObservedTime":null}]`), nil},

		{"good decision", "PlacementDecision", decision(`,"decisions":[]`), nil},
		{"decisions missing", "PlacementDecision", decision(``), []string{required + "decisions"}},
		{"decisions null", "PlacementDecision", decision(`,"decisions":null`), []string{required + "decisions"}},
		{"decisions are an object", "PlacementDecision", decision(`,"decisions":{}`), []string{typeInvalid + "decisions"}},
		{"reference missing", "PlacementDecision", decision(`,"decisions":[{"reason":"x"}]`), []string{required + "decisions[0].clusterProfileRef"}},
		{"reference name missing", "PlacementDecision", decision(`,"decisions":[{"clusterProfileRef":{"namespace":"n"}}]`),
			[]string{required + "decisions[0].clusterProfileRef.name"}},
		{"reference name empty", "PlacementDecision", decision(`,"decisions":[{"clusterProfileRef":{"name":""}}]`), nil},
		{"reference is text", "PlacementDecision", decision(`,"decisions":[{"clusterProfileRef":"atlas"}]`), []string{typeInvalid + "decisions[0].clusterProfileRef"}},
		{"scheduler is a number", "PlacementDecision", decision(`,"decisions":[],"schedulerName":1`), []string{typeInvalid + "schedulerName"}},
		{"characters beyond the first plane in JSON escapes", "PlacementDecision", decision(`,"decisions":[{"reason":"\ud83d\ude00"}]`),
			[]string{required + "decisions[0].clusterProfileRef"}},
	}
	for _, test := range tests {
		for _, mediaType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML} {
			t.Run(test.name+"/"+mediaType, func(t *testing.T) {
				if strings.Contains(test.body, `\u`) && mediaType == runtime.ContentTypeYAML {
					t.Skip("YAML has no surrogate escapes")
				}
				obj, found, err := decode(t, mediaType, false, "v1alpha1", test.kind, []byte(test.body))
				if err != nil {
					t.Fatalf("error %v", err)
				}
				if diff := cmp.Diff(test.want, brief(found), anyOrder); diff != "" {
					t.Errorf("findings (-want +got):\n%s%v", diff, found)
				}
				accessor := obj.(bodycheck.Object).GetObjectMeta()
				if accessor.GetName() == "" {
					t.Error("the object has lost its name")
				}
			})
		}
	}
}

// TestVersionsHaveTheirOwnSchema sends v1alpha2 what only v1alpha1 lets pass.
func TestVersionsHaveTheirOwnSchema(t *testing.T) {
	body := status(`"accessProviders":[{"name":"a"}]`)
	for version, want := range map[string][]string{"v1alpha1": nil, "v1alpha2": {required + "status.accessProviders[0].cluster"}} {
		_, found, err := decode(t, runtime.ContentTypeJSON, false, version, "ClusterProfile", []byte(strings.Replace(body, "v1alpha1", version, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, brief(found)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", version, diff)
		}
	}
}

func TestRealYAML(t *testing.T) {
	const body = "apiVersion: multicluster.x-k8s.io/v1alpha2\nkind: ClusterProfile\nmetadata:\n  name: atlas\nspec:\n  displayName: 5 # a number\n  clusterManager: {}\n"
	_, found, err := decode(t, runtime.ContentTypeYAML, false, "v1alpha2", "ClusterProfile", []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{typeInvalid + "spec.displayName", required + "spec.clusterManager.name"}, brief(found), anyOrder); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDefaultsNameTheKind leaves apiVersion and kind out, which the path of the request tells.
func TestDefaultsNameTheKind(t *testing.T) {
	_, found, err := decode(t, runtime.ContentTypeJSON, false, "v1alpha1", "PlacementDecision", []byte(`{"metadata":{"name":"p"},"decisions":5}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{typeInvalid + "decisions"}, brief(found)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestErrorsThatStay is about bodies of which nothing better can be said than what the decoder says.
func TestErrorsThatStay(t *testing.T) {
	tests := map[string]string{
		"empty":             ``,
		"no JSON":           `{"apiVersion":`,
		"list":              `[]`,
		"text":              `"x"`,
		"labels a number":   `{"apiVersion":"multicluster.x-k8s.io/v1alpha1","kind":"ClusterProfile","metadata":{"name":"a","labels":5},"spec":5}`,
		"metadata a text":   `{"apiVersion":"multicluster.x-k8s.io/v1alpha1","kind":"ClusterProfile","metadata":"x","spec":{"clusterManager":{"name":"m"}}}`,
		"another group":     `{"apiVersion":"example.com/v1","kind":"ClusterProfile","metadata":{"name":"a"}}`,
		"apiVersion no one": `{"apiVersion":"a/b/c","kind":"ClusterProfile","metadata":{"name":"a"}}`,
	}
	for name, body := range tests {
		t.Run(name, func(t *testing.T) {
			_, found, err := decode(t, runtime.ContentTypeJSON, false, "v1alpha1", "ClusterProfile", []byte(body))
			if err == nil || len(found) > 0 {
				t.Errorf("error %v, findings %v", err, found)
			}
		})
	}
}

// TestStrictErrorsPass keeps an unknown field an error of its own, beside what else is found.
func TestStrictErrorsPass(t *testing.T) {
	tests := []struct {
		name, body string
		want       []string
	}{
		{"unknown field only", profile(`"spec":{"clusterManager":{"name":"m"},"colour":"red"}`), nil},
		{"unknown field, and one missing", profile(`"spec":{"clusterManager":{},"colour":"red"}`), []string{required + "spec.clusterManager.name"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			obj, found, err := decode(t, runtime.ContentTypeJSON, true, "v1alpha1", "ClusterProfile", []byte(test.body))
			if !runtime.IsStrictDecodingError(err) || !strings.Contains(err.Error(), "spec.colour") {
				t.Errorf("error %v", err)
			}
			if obj == nil {
				t.Error("no object beside the strict error")
			}
			if diff := cmp.Diff(test.want, brief(found)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestProtobufIsLeftAlone sends what JSON would be refused for; protobuf says by itself what is missing.
func TestProtobufIsLeftAlone(t *testing.T) {
	info, _ := runtime.SerializerInfoForMediaType(apiserver.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	var wire bytes.Buffer
	sent := &multicluster.ClusterProfile{}
	sent.Name = "atlas"
	v1alpha1 := schema.GroupVersion{Group: multicluster.GroupName, Version: "v1alpha1"}
	if err := apiserver.Codecs.EncoderForVersion(info.Serializer, v1alpha1).Encode(sent, &wire); err != nil {
		t.Fatal(err)
	}
	obj, found, err := decode(t, runtime.ContentTypeProtobuf, false, "v1alpha1", "ClusterProfile", wire.Bytes())
	if err != nil || len(found) > 0 {
		t.Fatalf("error %v, findings %v", err, found)
	}
	if diff := cmp.Diff(runtime.Object(sent), obj); diff != "" {
		t.Errorf("(-sent +got):\n%s", diff)
	}
	garbage := append([]byte("k8s\x00"), 1, 2, 3)
	if _, found, err := decode(t, runtime.ContentTypeProtobuf, false, "v1alpha1", "ClusterProfile", garbage); err == nil || len(found) > 0 {
		t.Errorf("garbage: error %v, findings %v", err, found)
	}
}

// TestSoundBodiesAreNotChecked shows that a schema is looked up only where the decoder leaves a question.
func TestSoundBodiesAreNotChecked(t *testing.T) {
	info, _ := runtime.SerializerInfoForMediaType(apiserver.Codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	counting := &counter{}
	serializer := bodycheck.Serializer{NegotiatedSerializer: apiserver.Codecs, Schemas: counting}
	decoder := serializer.DecoderToVersion(info.Serializer, multicluster.SchemeGroupVersion)
	for body, want := range map[string]int{
		status(`"properties":[{"name":"a","value":"b"}]`): 0,
		status(`"properties":[{"name":"a"}]`):             1,
	} {
		counting.asked = 0
		if _, _, err := decoder.Decode([]byte(body), nil, nil); err != nil {
			t.Fatal(err)
		}
		if counting.asked != want {
			t.Errorf("%s: %s", body, fmt.Sprintf("the schema was asked for %d times, want %d", counting.asked, want))
		}
	}
}
