// Package bodycheck finds out what is wrong with a request body where decoding it into Go types loses the answer, so that a client
// reads what kube-apiserver says for a custom resource of the same schema: 422 with the path of each field.
//
// The Go decoder refuses a number where text belongs, or text that is not base64, with 400 and no path; and it gives a required field
// that was left out the zero value, as if it had been sent empty. Only then, so at no cost to most sound bodies, the body is held
// against the published OpenAPI schema: a refused one by the validator that serves custom resources, one that may lack a required field
// by a walk along the schema.
//
// It may import apimachinery, apiserver, apiextensions-apiserver's validation and pkg/apis only.
package bodycheck

import (
	"bytes"
	"encoding/json"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
)

// Object is an internal object that can carry findings to the registry.
type Object interface {
	runtime.Object
	metav1.ObjectMetaAccessor
	// MayLackRequired says whether only the body tells if a required field was sent.
	MayLackRequired() bool
	// SetMalformed records the findings.
	SetMalformed(*multicluster.Malformed)
}

// Serializer decodes as the serializer that it wraps, and checks bodies.
type Serializer struct {
	runtime.NegotiatedSerializer
	// Schemas finds the published schema of a kind.
	Schemas resolver.SchemaResolver
}

// DecoderToVersion returns a decoder that checks bodies.
func (s Serializer) DecoderToVersion(serializer runtime.Decoder, version runtime.GroupVersioner) runtime.Decoder {
	return &decoder{Decoder: s.NegotiatedSerializer.DecoderToVersion(serializer, version), serializer: s}
}

type decoder struct {
	runtime.Decoder
	serializer Serializer
}

// Decode decodes data. An object that is wrong in a way that the Go types cannot show comes back without an error and carries the
// findings.
func (d *decoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	obj, gvk, err := d.Decoder.Decode(data, defaults, into)
	if err == nil || runtime.IsStrictDecodingError(err) {
		if checkable, ok := obj.(Object); ok && checkable.MayLackRequired() {
			if found := d.check(data, gvk); len(found) > 0 {
				checkable.SetMalformed(&multicluster.Malformed{Errors: found, FindIn: func(stored runtime.Object) field.ErrorList { return d.findIn(stored, gvk) }})
			}
		}
		return obj, gvk, err
	}
	checkable, ok := into.(Object)
	if !ok {
		return obj, gvk, err
	}
	body, known := parse(data, defaults)
	if body == nil || !setMetadata(checkable, body) {
		return obj, gvk, err
	}
	found := d.validate(body, known)
	if defaults != nil && known.Kind != defaults.Kind {
		found = field.ErrorList{field.Invalid(field.NewPath("kind"), known.Kind, "must be "+defaults.Kind)}
	}
	if len(found) == 0 {
		return obj, gvk, err
	}
	checkable.SetMalformed(&multicluster.Malformed{Errors: found})
	return checkable, known, nil
}

// check looks for what a body of sound types may lack.
func (d *decoder) check(data []byte, gvk *schema.GroupVersionKind) field.ErrorList {
	body, _ := parse(data, gvk)
	content, published := d.content(body, gvk)
	if published == nil {
		return nil
	}
	return walker{complete: true}.check(content, published)
}

// findIn looks for the same in a stored object, in the version in which a body was sent.
func (d *decoder) findIn(stored runtime.Object, gvk *schema.GroupVersionKind) field.ErrorList {
	info, ok := runtime.SerializerInfoForMediaType(d.serializer.SupportedMediaTypes(), runtime.ContentTypeJSON)
	if !ok {
		return nil
	}
	data, err := runtime.Encode(d.serializer.EncoderForVersion(info.Serializer, gvk.GroupVersion()), stored)
	if err != nil {
		return nil
	}
	return d.check(data, gvk)
}

// validate looks for everything that is wrong with a body that could not be decoded.
func (d *decoder) validate(body map[string]any, gvk *schema.GroupVersionKind) field.ErrorList {
	content, published := d.content(body, gvk)
	if published == nil {
		return nil
	}
	if found := validation.ValidateCustomResource(nil, dropNulls(content), validation.NewSchemaValidatorFromOpenAPI(withoutMetadata(published))); len(found) > 0 {
		return found
	}
	return walker{complete: true}.check(content, published)
}

// content returns what of a body is checked, which is all but its metadata, which the Go decoder judges as it does for every kind; and
// the schema, nil where there is nothing to check it by.
func (d *decoder) content(body map[string]any, gvk *schema.GroupVersionKind) (map[string]any, *spec.Schema) {
	if body == nil || gvk == nil {
		return nil, nil
	}
	published, err := d.serializer.Schemas.ResolveSchema(*gvk)
	if err != nil {
		return nil, nil
	}
	delete(body, "metadata")
	return body, published
}

// parse reads JSON or YAML into a map, and tells its kind; nil for anything else, protobuf among it.
func parse(data []byte, defaults *schema.GroupVersionKind) (map[string]any, *schema.GroupVersionKind) {
	if bytes.HasPrefix(data, []byte("k8s\x00")) {
		return nil, nil
	}
	body := map[string]any{}
	// Not all JSON is YAML: a character beyond the first plane, in escapes, is none.
	if json.Unmarshal(data, &body) != nil {
		asJSON, err := yaml.YAMLToJSON(data)
		if err != nil || json.Unmarshal(asJSON, &body) != nil {
			return nil, nil
		}
	}
	gvk := schema.GroupVersionKind{}
	if defaults != nil {
		gvk = *defaults
	}
	if apiVersion, ok := body["apiVersion"].(string); ok && apiVersion != "" {
		gv, err := schema.ParseGroupVersion(apiVersion)
		if err != nil {
			return nil, nil
		}
		gvk = gv.WithKind(gvk.Kind)
	}
	if kind, ok := body["kind"].(string); ok && kind != "" {
		gvk.Kind = kind
	}
	return body, &gvk
}

// setMetadata gives an object the metadata of a body, and says whether it could be read.
func setMetadata(obj Object, body map[string]any) bool {
	target, ok := obj.GetObjectMeta().(*metav1.ObjectMeta)
	if !ok {
		return false
	}
	data, err := json.Marshal(body["metadata"])
	if err != nil {
		return false
	}
	parsed := metav1.ObjectMeta{}
	if err := json.Unmarshal(data, &parsed); err != nil {
		return false
	}
	*target = parsed
	return true
}

// dropNulls returns a value without the null members of its objects: kube-apiserver prunes them before it validates a custom resource.
func dropNulls(value any) any {
	switch typed := value.(type) {
	case map[string]any:
		kept := make(map[string]any, len(typed))
		for key, member := range typed {
			if member != nil {
				kept[key] = dropNulls(member)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(typed))
		for i, item := range typed {
			kept[i] = dropNulls(item)
		}
		return kept
	}
	return value
}

// withoutMetadata returns a schema without the metadata, which is checked elsewhere.
func withoutMetadata(published *spec.Schema) *spec.Schema {
	trimmed := *published
	trimmed.Properties = make(map[string]spec.Schema, len(published.Properties))
	for name, property := range published.Properties {
		if name != "metadata" {
			trimmed.Properties[name] = property
		}
	}
	return &trimmed
}
