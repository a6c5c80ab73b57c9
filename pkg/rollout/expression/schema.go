package expression

import (
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/openapi"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	openapicommon "k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	binnaclev1alpha1 "github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	multiclusterv1alpha1 "github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
	generatedopenapi "github.com/binnacle-dev/binnacle/pkg/generated/openapi"
)

// Names of the variables.
const (
	profileVariable = "profile"
	statusVariable  = "status"
)

// unkept are the fields of a ClusterProfile that the view does not keep, by the object that has them.
var unkept = map[string][]string{"metadata": {"annotations", "managedFields"}, "status": {"accessProviders", "credentialProviders"}}

// variable is what a variable of an expression holds.
type variable struct {
	schema common.Schema
	decl   *apiservercel.DeclType
}

// newVariables reads the types of the variables out of the published schema.
func newVariables() (map[string]variable, error) {
	definitions := generatedopenapi.GetOpenAPIDefinitions(spec.MustCreateRef)
	find := func(name string) (*spec.Schema, bool) {
		definition, ok := definitions[name]
		schema := definition.Schema
		// A quantity is one of several types in OpenAPI v3, and a string in v2. So it is in CEL.
		if v2, has := schema.Extensions[openapicommon.ExtensionV2Schema].(spec.Schema); has {
			schema = v2
		}
		return &schema, ok
	}
	variables := map[string]variable{}
	for name, model := range map[string]string{
		profileVariable: multiclusterv1alpha1.ClusterProfile{}.OpenAPIModelName(),
		statusVariable:  binnaclev1alpha1.ClusterStatus{}.OpenAPIModelName(),
	} {
		whole, err := resolver.PopulateRefs(find, model)
		if err != nil {
			return nil, err
		}
		if name == profileVariable {
			for field, hidden := range unkept {
				for _, h := range hidden {
					delete(whole.Properties[field].Properties, h)
				}
			}
		}
		schema := freeze(&openapi.Schema{Schema: whole})
		variables[name] = variable{schema, common.SchemaDeclType(schema, true).MaybeAssignTypeName(model)}
	}
	return variables, nil
}

// frozen is a schema whose parts are at hand: the library's makes them anew each time that a value looks at a field of its own.
type frozen struct {
	common.Schema
	properties map[string]common.Schema
	items      common.Schema
	additional common.SchemaOrBool
}

func freeze(s common.Schema) common.Schema {
	f := &frozen{Schema: s}
	if properties := s.Properties(); properties != nil {
		f.properties = make(map[string]common.Schema, len(properties))
		for name, property := range properties {
			f.properties[name] = freeze(property)
		}
	}
	if items := s.Items(); items != nil {
		f.items = freeze(items)
	}
	if additional := s.AdditionalProperties(); additional != nil {
		f.additional = frozenOrBool{SchemaOrBool: additional}
		if schema := additional.Schema(); schema != nil {
			f.additional = frozenOrBool{additional, freeze(schema)}
		}
	}
	return f
}

// Properties implements common.Schema.
func (f *frozen) Properties() map[string]common.Schema { return f.properties }

// Items implements common.Schema.
func (f *frozen) Items() common.Schema { return f.items }

// AdditionalProperties implements common.Schema.
func (f *frozen) AdditionalProperties() common.SchemaOrBool { return f.additional }

type frozenOrBool struct {
	common.SchemaOrBool
	schema common.Schema
}

// Schema implements common.SchemaOrBool.
func (f frozenOrBool) Schema() common.Schema { return f.schema }
