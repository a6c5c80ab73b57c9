// Package table turns columns that are declared as data into the tables that kubectl prints.
//
// It may import apimachinery and apiserver only.
package table

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metatable "k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
)

// Column is one column of a kind: what clients are told of it, and its value for an object.
type Column[T runtime.Object] struct {
	// Name is the heading; kubectl prints it in capitals.
	Name string
	// Type is an OpenAPI type, string where empty.
	Type string
	// Description tells people what the column shows.
	Description string
	// Wide columns are shown by kubectl -o wide only.
	Wide bool
	// Value is what the column shows for an object.
	Value func(T) any
}

// NewConvertor returns the convertor of a kind with the given columns between Name and Age. Wide columns go last.
func NewConvertor[T runtime.Object](columns ...Column[T]) rest.TableConvertor {
	var plain, wide []Column[T]
	for _, c := range columns {
		if c.Wide {
			wide = append(wide, c)
		} else {
			plain = append(plain, c)
		}
	}
	doc := metav1.ObjectMeta{}.SwaggerDoc()
	definitions := []metav1.TableColumnDefinition{{Name: "Name", Type: "string", Format: "name", Description: doc["name"]}}
	for _, c := range plain {
		definitions = append(definitions, c.definition(0))
	}
	definitions = append(definitions, metav1.TableColumnDefinition{Name: "Age", Type: "date", Description: doc["creationTimestamp"]})
	for _, c := range wide {
		definitions = append(definitions, c.definition(1))
	}
	return &convertor[T]{definitions: definitions, plain: plain, wide: wide}
}

func (c Column[T]) definition(priority int32) metav1.TableColumnDefinition {
	kind := c.Type
	if kind == "" {
		kind = "string"
	}
	return metav1.TableColumnDefinition{Name: c.Name, Type: kind, Description: c.Description, Priority: priority}
}

type convertor[T runtime.Object] struct {
	definitions []metav1.TableColumnDefinition
	plain, wide []Column[T]
}

// ConvertToTable implements rest.TableConvertor for an object and a list of objects.
func (c *convertor[T]) ConvertToTable(_ context.Context, object, tableOptions runtime.Object) (*metav1.Table, error) {
	result := &metav1.Table{}
	if list, err := meta.ListAccessor(object); err == nil {
		result.ResourceVersion = list.GetResourceVersion()
		result.Continue = list.GetContinue()
		result.RemainingItemCount = list.GetRemainingItemCount()
	} else if object, err := meta.CommonAccessor(object); err == nil {
		result.ResourceVersion = object.GetResourceVersion()
	}
	if options, ok := tableOptions.(*metav1.TableOptions); !ok || !options.NoHeaders {
		result.ColumnDefinitions = c.definitions
	}
	rows, err := metatable.MetaToTableRow(object, c.cells)
	result.Rows = rows
	return result, err
}

func (c *convertor[T]) cells(object runtime.Object, _ metav1.Object, name, age string) ([]any, error) {
	typed, ok := object.(T)
	if !ok {
		return nil, fmt.Errorf("no columns for a %T", object)
	}
	cells := make([]any, 0, len(c.definitions))
	cells = append(cells, name)
	for _, column := range c.plain {
		cells = append(cells, column.Value(typed))
	}
	cells = append(cells, age)
	for _, column := range c.wide {
		cells = append(cells, column.Value(typed))
	}
	return cells, nil
}
