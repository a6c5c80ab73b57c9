package apiserver

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	generatedopenapi "github.com/binnacle-dev/binnacle/pkg/generated/openapi"
)

// openAPIDefinitions are the generated ones, but for what the generator cannot say: that an extension holds fields which the schema
// does not name, so that server-side apply lets several managers own parts of one extension, as for a custom resource; and that the
// text of a time is one.
func openAPIDefinitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	definitions := generatedopenapi.GetOpenAPIDefinitions(ref)
	for name, definition := range definitions {
		properties := definition.Schema.Properties
		if extension, ok := properties["extension"]; ok && strings.HasSuffix(name, ".NamedExtension") {
			open := spec.MapProperty(nil)
			open.AdditionalProperties = nil
			open.Description = extension.Description
			open.AddExtension("x-kubernetes-preserve-unknown-fields", true)
			properties["extension"] = *open
		}
		if observed, ok := properties["lastObservedTime"]; ok && strings.HasSuffix(name, ".Property") {
			observed.Format = "date-time"
			properties["lastObservedTime"] = observed
		}
	}
	return definitions
}

// withoutStrategicMerge takes the strategic merge patch out of a published document: the server refuses it (see filters), and kubectl
// apply sends it to whoever offers it.
func withoutStrategicMerge(document *spec.Swagger) (*spec.Swagger, error) {
	if document.Paths == nil {
		return document, nil
	}
	for _, path := range document.Paths.Paths {
		if path.Patch != nil {
			path.Patch.Consumes = slices.DeleteFunc(path.Patch.Consumes, func(t string) bool { return t == string(types.StrategicMergePatchType) })
		}
	}
	return document, nil
}

// withoutStrategicMergeV3 is the same for a document of OpenAPI v3.
func withoutStrategicMergeV3(document *spec3.OpenAPI) (*spec3.OpenAPI, error) {
	if document.Paths == nil {
		return document, nil
	}
	for _, path := range document.Paths.Paths {
		if path.Patch != nil && path.Patch.RequestBody != nil {
			delete(path.Patch.RequestBody.Content, string(types.StrategicMergePatchType))
		}
	}
	return document, nil
}
