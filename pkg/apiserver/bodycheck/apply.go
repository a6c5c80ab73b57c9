package bodycheck

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

// CheckApply finds text in a body of server-side apply that does not have the format that the published schema asks for. Server-side
// apply merges by the schema, which knows text from numbers but no formats; the Go types then refuse what was merged with 500.
// It returns the findings, and the kind that the body says it is.
func CheckApply(schemas resolver.SchemaResolver, data []byte) (field.ErrorList, string) {
	body, gvk := parse(data, nil)
	if body == nil {
		return nil, ""
	}
	published, err := schemas.ResolveSchema(*gvk)
	if err != nil {
		return nil, ""
	}
	delete(body, "metadata")
	return formats(nil, body, published), gvk.Kind
}

// formats walks a value along its schema. It finds text that does not have its format, and what is no text where text belongs: the
// validator of custom resources lets an array pass there.
func formats(path *field.Path, value any, schema *spec.Schema) field.ErrorList {
	var found field.ErrorList
	if _, isText := value.(string); !isText && value != nil && schema.Type.Contains("string") {
		return append(found, field.TypeInvalid(path, value, "must be of type string"))
	}
	switch typed := value.(type) {
	case string:
		if schema.Format != "" && strfmt.Default.ContainsName(schema.Format) && !strfmt.Default.Validates(schema.Format, typed) {
			found = append(found, field.TypeInvalid(path, typed, "must be of type "+schema.Format))
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(typed)) {
			if property, ok := schema.Properties[name]; ok {
				found = append(found, formats(path.Child(name), typed[name], &property)...)
			}
		}
	case []any:
		if schema.Items != nil && schema.Items.Schema != nil {
			for i, item := range typed {
				found = append(found, formats(path.Index(i), item, schema.Items.Schema)...)
			}
		}
	}
	return found
}
