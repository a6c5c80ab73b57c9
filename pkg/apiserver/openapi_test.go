package apiserver

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha2"
)

const refPrefix = "#/definitions/"

// models returns the published definitions by name.
func models(t *testing.T) map[string]common.OpenAPIDefinition {
	t.Helper()
	return openAPIDefinitions(func(path string) spec.Ref { return spec.MustCreateRef(refPrefix + path) })
}

// ours are the definitions of our group by version and type.
func ours(t *testing.T) map[string]spec.Schema {
	t.Helper()
	found := map[string]spec.Schema{}
	for name, definition := range models(t) {
		if short, ok := strings.CutPrefix(name, "io.x-k8s.multicluster."); ok {
			found[short] = definition.Schema
		}
	}
	return found
}

func TestModelNames(t *testing.T) {
	types := []string{"AccessProvider", "Cluster", "ClusterDecision", "ClusterManager", "ClusterProfile", "ClusterProfileList", "ClusterProfileReference",
		"ClusterProfileSpec", "ClusterProfileStatus", "ClusterVersion", "NamedExtension", "PlacementDecision", "PlacementDecisionList", "Property"}
	var want []string
	for _, version := range []string{"v1alpha1", "v1alpha2"} {
		for _, name := range types {
			want = append(want, version+"."+name)
		}
	}
	got := slices.DeleteFunc(slices.Sorted(maps.Keys(ours(t))), func(name string) bool {
		// Types of plain text and lists may be models or not.
		return strings.HasSuffix(name, ".Timestamp") || strings.HasSuffix(name, ".ClusterDecisions")
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	namer := openapi.NewDefinitionNamer(Scheme)
	for name := range models(t) {
		published, _ := namer.GetDefinitionName(name)
		if strings.Contains(published, "/") || strings.Contains(name, "/") {
			t.Errorf("the model %s is published as %s", name, published)
		}
	}
	for kind, obj := range map[string]interface{ OpenAPIModelName() string }{
		"v1alpha1": v1alpha1.ClusterProfile{}, "v1alpha2": v1alpha2.PlacementDecision{},
	} {
		if _, ok := models(t)[obj.OpenAPIModelName()]; !ok {
			t.Errorf("%s: no model %s", kind, obj.OpenAPIModelName())
		}
	}
}

// TestEveryFieldIsExplained is what kubectl explain shows. Every Go field has to be there, with a description and a type.
func TestEveryFieldIsExplained(t *testing.T) {
	schemas := ours(t)
	for short, obj := range map[string]any{
		"v1alpha1.ClusterProfile": v1alpha1.ClusterProfile{}, "v1alpha1.ClusterProfileList": v1alpha1.ClusterProfileList{},
		"v1alpha1.PlacementDecision": v1alpha1.PlacementDecision{}, "v1alpha1.PlacementDecisionList": v1alpha1.PlacementDecisionList{},
		"v1alpha2.ClusterProfile": v1alpha2.ClusterProfile{}, "v1alpha2.ClusterProfileList": v1alpha2.ClusterProfileList{},
		"v1alpha2.PlacementDecision": v1alpha2.PlacementDecision{}, "v1alpha2.PlacementDecisionList": v1alpha2.PlacementDecisionList{},
	} {
		explained(t, schemas, short, reflect.TypeOf(obj))
	}
}

// explained checks the model of a Go type, and those of the types of its fields that are ours too.
func explained(t *testing.T, schemas map[string]spec.Schema, short string, of reflect.Type) {
	t.Helper()
	model, ok := schemas[short]
	if !ok || model.Description == "" {
		t.Errorf("%s: published %v, described %q", short, ok, model.Description)
	}
	for i := range of.NumField() {
		field := of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" { // TypeMeta
			continue
		}
		property, ok := model.Properties[name]
		open, _ := property.Extensions.GetBool("x-kubernetes-preserve-unknown-fields")
		typed := len(property.Type) > 0 || property.Ref.String() != "" || len(property.AllOf) == 1 || open
		if !ok || property.Description == "" || !typed {
			t.Errorf("%s.%s: published %v, described %q, type %v", short, name, ok, property.Description, property.Type)
		}
		inner := field.Type
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && inner.PkgPath() == of.PkgPath() {
			version, _, _ := strings.Cut(short, ".")
			explained(t, schemas, version+"."+inner.Name(), inner)
		}
	}
}

func TestEveryReferenceResolves(t *testing.T) {
	definitions := models(t)
	count := 0
	for name, definition := range definitions {
		visit(&definition.Schema, func(s *spec.Schema) {
			ref := s.Ref.String()
			if ref == "" {
				return
			}
			count++
			if _, ok := definitions[strings.TrimPrefix(ref, refPrefix)]; !ok {
				t.Errorf("%s refers to %s, which is not there", name, ref)
			}
		})
	}
	if count == 0 {
		t.Error("no references found")
	}
}

func visit(s *spec.Schema, f func(*spec.Schema)) {
	f(s)
	for _, property := range s.Properties {
		visit(&property, f)
	}
	for i := range s.AllOf {
		visit(&s.AllOf[i], f)
	}
	if s.Items != nil && s.Items.Schema != nil {
		visit(s.Items.Schema, f)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		visit(s.AdditionalProperties.Schema, f)
	}
}

// TestHowListsMerge pins what server-side apply takes from the schema.
func TestHowListsMerge(t *testing.T) {
	tests := []struct {
		model, field, listType string
		keys                   []any
	}{
		{"v1alpha1.ClusterProfileStatus", "conditions", "map", []any{"type"}},
		{"v1alpha1.ClusterProfileStatus", "properties", "map", []any{"name"}},
		{"v1alpha1.ClusterProfileStatus", "credentialProviders", "map", []any{"name"}},
		{"v1alpha1.ClusterProfileStatus", "accessProviders", "map", []any{"name"}},
		{"v1alpha1.Cluster", "extensions", "atomic", nil},
		{"v1alpha1.PlacementDecision", "decisions", "atomic", nil},
		{"v1alpha2.ClusterProfileStatus", "conditions", "map", []any{"type"}},
		{"v1alpha2.ClusterProfileStatus", "properties", "map", []any{"name"}},
		{"v1alpha2.ClusterProfileStatus", "accessProviders", "map", []any{"name"}},
		{"v1alpha2.Cluster", "extensions", "map", []any{"name"}},
		{"v1alpha2.PlacementDecision", "decisions", "atomic", nil},
	}
	schemas, lists := ours(t), 0
	for _, test := range tests {
		t.Run(test.model+"."+test.field, func(t *testing.T) {
			extensions := schemas[test.model].Properties[test.field].Extensions
			if got := extensions["x-kubernetes-list-type"]; got != test.listType {
				t.Errorf("list type %v, want %v", got, test.listType)
			}
			keys, _ := extensions["x-kubernetes-list-map-keys"].([]any)
			if diff := cmp.Diff(test.keys, keys); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
		})
	}
	for name, schema := range schemas {
		for field, property := range schema.Properties {
			if property.Type.Contains("array") && !strings.HasSuffix(name, "List") {
				lists++
				if property.Extensions["x-kubernetes-list-type"] == nil {
					t.Errorf("%s.%s does not say how it merges", name, field)
				}
			}
		}
	}
	if lists != len(tests) {
		t.Errorf("%d lists are published, and %d tested", lists, len(tests))
	}
}

// TestPublishedSchema pins types, formats and required fields that clients generate code from.
func TestPublishedSchema(t *testing.T) {
	schemas := ours(t)
	for _, version := range []string{"v1alpha1.", "v1alpha2."} {
		for model, required := range map[string][]string{
			"ClusterProfile": {"spec"}, "ClusterProfileSpec": {"clusterManager"}, "ClusterManager": {"name"}, "ClusterProfileStatus": nil,
			"Property": {"name", "value"}, "Cluster": {"server"}, "NamedExtension": {"name", "extension"},
			"PlacementDecision": {"decisions"}, "ClusterDecision": {"clusterProfileRef"}, "ClusterProfileReference": {"name"},
		} {
			if diff := cmp.Diff(required, schemas[version+model].Required); diff != "" {
				t.Errorf("%s%s requires (-want +got):\n%s", version, model, diff)
			}
		}
		for field, format := range map[string]string{"Property.lastObservedTime": "date-time", "Cluster.certificate-authority-data": "byte"} {
			model, name, _ := strings.Cut(field, ".")
			property := schemas[version+model].Properties[name]
			if !property.Type.Contains("string") || property.Format != format {
				t.Errorf("%s%s is %v of format %q, want text of %q", version, field, property.Type, property.Format, format)
			}
		}
	}
	for model, required := range map[string][]string{"v1alpha1.AccessProvider": {"name"}, "v1alpha2.AccessProvider": {"name", "cluster"}} {
		if diff := cmp.Diff(required, schemas[model].Required); diff != "" {
			t.Errorf("%s requires (-want +got):\n%s", model, diff)
		}
	}
}

func TestStrategicMergeIsNotPublished(t *testing.T) {
	const merge, strategic = "application/merge-patch+json", "application/strategic-merge-patch+json"
	v2 := &spec.Swagger{SwaggerProps: spec.SwaggerProps{Paths: &spec.Paths{Paths: map[string]spec.PathItem{
		"/a": {PathItemProps: spec.PathItemProps{Patch: &spec.Operation{OperationProps: spec.OperationProps{Consumes: []string{merge, strategic}}}}},
		"/b": {},
	}}}}
	if _, err := withoutStrategicMerge(v2); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{merge}, v2.Paths.Paths["/a"].Patch.Consumes); diff != "" {
		t.Errorf("v2 (-want +got):\n%s", diff)
	}
	body := &spec3.RequestBody{RequestBodyProps: spec3.RequestBodyProps{Content: map[string]*spec3.MediaType{merge: {}, strategic: {}}}}
	v3 := &spec3.OpenAPI{Paths: &spec3.Paths{Paths: map[string]*spec3.Path{
		"/a": {PathProps: spec3.PathProps{Patch: &spec3.Operation{OperationProps: spec3.OperationProps{RequestBody: body}}}},
		"/b": {},
	}}}
	if _, err := withoutStrategicMergeV3(v3); err != nil {
		t.Fatal(err)
	}
	if got := slices.Collect(maps.Keys(body.Content)); !slices.Equal(got, []string{merge}) {
		t.Errorf("v3: %v", got)
	}
	if _, err := withoutStrategicMerge(&spec.Swagger{}); err != nil {
		t.Error(err)
	}
	if _, err := withoutStrategicMergeV3(&spec3.OpenAPI{}); err != nil {
		t.Error(err)
	}
}
