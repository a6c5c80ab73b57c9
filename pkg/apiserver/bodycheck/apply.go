package bodycheck

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
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
	return walker{}.check(body, published), gvk.Kind
}
