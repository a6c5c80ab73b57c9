package apiserver

import (
	"strings"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	generatedopenapi "github.com/binnacle-dev/binnacle/pkg/generated/openapi"
)

// openAPIDefinitions are the generated ones, but for what the generator cannot say: that an extension holds fields which the schema
// does not name. Server-side apply then lets several managers own parts of one extension, as for a custom resource.
func openAPIDefinitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	definitions := generatedopenapi.GetOpenAPIDefinitions(ref)
	for name, definition := range definitions {
		extension, ok := definition.Schema.Properties["extension"]
		if !ok || !strings.HasSuffix(name, ".NamedExtension") {
			continue
		}
		open := spec.MapProperty(nil)
		open.AdditionalProperties = nil
		open.Description = extension.Description
		open.AddExtension("x-kubernetes-preserve-unknown-fields", true)
		definition.Schema.Properties["extension"] = *open
		definitions[name] = definition
	}
	return definitions
}
