// Command models-schema prints the OpenAPI v2 models of every generated type, from which applyconfiguration-gen learns how lists merge.
package main

import (
	"encoding/json"
	"log"
	"os"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/binnacle-dev/binnacle/pkg/generated/openapi"
)

func main() {
	definitions := openapi.GetOpenAPIDefinitions(func(name string) spec.Ref {
		return spec.MustCreateRef("#/definitions/" + name)
	})
	models := make(spec.Definitions, len(definitions))
	for name, definition := range definitions {
		schema := definition.Schema
		if v2, ok := definition.Schema.Extensions[common.ExtensionV2Schema]; ok {
			if v2Schema, isOpenAPISchema := v2.(spec.Schema); isOpenAPISchema {
				schema = v2Schema
			}
		}
		models[name] = schema
	}
	document := spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Swagger:     "2.0",
		Info:        &spec.Info{InfoProps: spec.InfoProps{Title: "Binnacle", Version: "models"}},
		Paths:       &spec.Paths{},
		Definitions: models,
	}}
	if err := json.NewEncoder(os.Stdout).Encode(document); err != nil {
		log.Fatal(err)
	}
}
