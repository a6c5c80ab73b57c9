// Command models-schema prints the OpenAPI v2 models of every generated type, from which applyconfiguration-gen learns how lists merge.
package main

import (
	"encoding/json"
	"log"
	"os"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"

	binnaclev1alpha1 "github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	multiclusterv1alpha1 "github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
	multiclusterv1alpha2 "github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha2"
	"github.com/binnacle-dev/binnacle/pkg/generated/openapi"
)

// nameByGo adds each kind under the name that follows from its Go package, by which applyconfiguration-gen looks for it. The name that the
// kind gives itself (+k8s:openapi-model-package), by which type converters look for it, has to be kept: the generator drops what nothing
// refers to, and follows allOf, which says nothing about how lists merge.
func nameByGo(models spec.Definitions) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{binnaclev1alpha1.AddToScheme, multiclusterv1alpha1.AddToScheme, multiclusterv1alpha2.AddToScheme} {
		if err := add(scheme); err != nil {
			log.Fatal(err)
		}
	}
	for _, kind := range scheme.AllKnownTypes() {
		namer, ok := reflect.New(kind).Interface().(util.OpenAPIModelNamer)
		if !ok {
			continue
		}
		model, ok := models[namer.OpenAPIModelName()]
		if !ok {
			continue
		}
		model.AllOf = []spec.Schema{*spec.RefProperty("#/definitions/" + namer.OpenAPIModelName())}
		models[util.ToRESTFriendlyName(kind.PkgPath()+"."+kind.Name())] = model
	}
}

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
	nameByGo(models)
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
