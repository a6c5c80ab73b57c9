package bodycheck

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

// walker finds in a body what decoding hides although it succeeds: text that does not have its format and, in a body that says all of
// an object, required fields that are not there and text that is empty where it may not be. It is a tenth of the validator's cost.
type walker struct {
	// complete says that the body is the whole object, and not a part that is merged.
	complete bool
}

// check returns what walk finds in the order of the fields.
func (w walker) check(body map[string]any, schema *spec.Schema) field.ErrorList {
	found := w.walk(nil, body, schema)
	slices.SortStableFunc(found, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
	return found
}

// walk goes along a value and its schema. Members that are null are taken for absent.
func (w walker) walk(path *field.Path, value any, schema *spec.Schema) field.ErrorList {
	var found field.ErrorList
	if value == nil && w.complete {
		return append(found, field.TypeInvalid(path, "null", "must be of type "+strings.Join(schema.Type, " or ")))
	}
	if _, isText := value.(string); !isText && value != nil && schema.Type.Contains("string") {
		// The validator of custom resources lets an array pass for text that has a format.
		return append(found, field.TypeInvalid(path, value, "must be of type string"))
	}
	switch typed := value.(type) {
	case string:
		found = append(found, w.text(path, typed, schema)...)
	case map[string]any:
		if w.complete {
			for _, name := range schema.Required {
				if typed[name] == nil {
					found = append(found, field.Required(path.Child(name), ""))
				}
			}
		}
		for name, member := range typed {
			if property, ok := schema.Properties[name]; ok && member != nil {
				found = append(found, w.walk(path.Child(name), member, &property)...)
			}
		}
	case []any:
		if schema.Items != nil && schema.Items.Schema != nil {
			for i, item := range typed {
				found = append(found, w.walk(path.Index(i), item, schema.Items.Schema)...)
			}
		}
	}
	return found
}

func (w walker) text(path *field.Path, text string, schema *spec.Schema) field.ErrorList {
	if schema.Format != "" && strfmt.Default.ContainsName(schema.Format) && !strfmt.Default.Validates(schema.Format, text) {
		return field.ErrorList{field.TypeInvalid(path, text, "must be of type "+schema.Format)}
	}
	if least := schema.MinLength; w.complete && least != nil && int64(utf8.RuneCountInString(text)) < *least {
		return field.ErrorList{field.Invalid(path, text, fmt.Sprintf("should be at least %d chars long", *least))}
	}
	return nil
}
