package docs

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// served is a group with its served versions, in the order of the columns of a table of fields.
type served struct {
	group    string
	versions []string
}

var (
	upstream = served{"multicluster.x-k8s.io", []string{"v1alpha1", "v1alpha2"}}
	own      = served{"binnacle.dev", []string{"v1alpha1"}}
)

// servedOf says where a kind or a resource is. All but our own are upstream's.
func servedOf(name string) served {
	if slices.Contains([]string{"ClusterStatus", "ClusterReport", "clusterstatuses", "Rollout", "RolloutAction", "RolloutFeedback", "RolloutPreview", "rollouts"}, name) {
		return own
	}
	return upstream
}

// absent stands in a table of fields where a version does not have a field.
const absent = "–"

// published is what a version says of a field: whether it is required, and its limits.
type published struct {
	required bool
	limits   []string
}

// compareFields compares a table with the columns field, one for each version, and others with the published schemas: the same fields,
// the word required where they are, and each limit.
func (s *site) compareFields(t *testing.T, b block) {
	kind := b.directive[1]
	versions := servedOf(kind).versions
	fields := map[string]map[string]published{}
	all := map[string]bool{}
	for _, version := range versions {
		fields[version] = s.publishedFields(t, kind, version)
		for path := range fields[version] {
			all[path] = true
		}
	}
	documented := map[string]bool{}
	for _, row := range rows(b.text) {
		path := strings.Trim(row[0], "`")
		documented[path] = true
		for i, version := range versions {
			cell := row[1+i]
			field, exists := fields[version][path]
			switch {
			case exists != (cell != absent):
				t.Errorf("%s in %s: the table says %q; published is %v", path, version, cell, exists)
			case exists && field.required != strings.HasPrefix(cell, "required"):
				t.Errorf("%s in %s: the table says %q; required is %v", path, version, cell, field.required)
			}
			for _, limit := range field.limits {
				if !regexp.MustCompile(`\b` + limit + `\b`).MatchString(cell) {
					t.Errorf("%s in %s: the table says %q, without the limit %s", path, version, cell, limit)
				}
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if !documented[path] {
			t.Errorf("%s is not in the table", path)
		}
	}
}

// publishedFields returns the fields of a kind by path, without those that every object has. Items of a list are path[].
func (s *site) publishedFields(t *testing.T, kind, version string) map[string]published {
	t.Helper()
	var document spec3.OpenAPI
	s.get(t, "/openapi/v3/apis/"+servedOf(kind).group+"/"+version, "application/json", &document)
	schemas := document.Components.Schemas
	fields := map[string]published{}
	var walk func(path string, schema *spec.Schema)
	walk = func(path string, schema *spec.Schema) {
		schema = resolve(schemas, schema)
		if schema.Items != nil && schema.Items.Schema != nil {
			walk(path+"[]", schema.Items.Schema)
		}
		for name, property := range schema.Properties {
			below := strings.TrimPrefix(path+"."+name, ".")
			if slices.Contains([]string{"apiVersion", "kind", "metadata"}, below) {
				continue
			}
			resolved := resolve(schemas, &property)
			fields[below] = published{slices.Contains(schema.Required, name), limits(resolved)}
			walk(below, resolved)
		}
	}
	for name, schema := range schemas {
		if strings.HasSuffix(name, "."+version+"."+kind) {
			walk("", schema)
		}
	}
	if len(fields) == 0 {
		t.Fatalf("%s has no %s", version, kind)
	}
	return fields
}

// resolve follows a reference, which OpenAPI v3 wraps in allOf.
func resolve(schemas map[string]*spec.Schema, schema *spec.Schema) *spec.Schema {
	for {
		reference := schema.Ref.String()
		if reference == "" && len(schema.AllOf) == 1 {
			reference = schema.AllOf[0].Ref.String()
		}
		if reference == "" {
			return schema
		}
		schema = schemas[strings.TrimPrefix(reference, "#/components/schemas/")]
	}
}

func limits(schema *spec.Schema) []string {
	var found []string
	for _, limit := range []*int64{schema.MinLength, schema.MaxLength, schema.MinItems, schema.MaxItems} {
		if limit != nil {
			found = append(found, strconv.FormatInt(*limit, 10))
		}
	}
	return found
}

// compareColumns compares a table with the columns column and when with what the server prints, in each version.
func (s *site) compareColumns(t *testing.T, b block) {
	var want []string
	for _, row := range rows(b.text) {
		want = append(want, row[0]+" "+row[1])
	}
	in := servedOf(b.directive[1])
	for _, version := range in.versions {
		var table metav1.Table
		s.get(t, fmt.Sprintf("/apis/%s/%s/%s", in.group, version, b.directive[1]), "application/json;as=Table;v=v1;g=meta.k8s.io", &table)
		var got []string
		for _, column := range table.ColumnDefinitions {
			when := "always"
			if column.Priority > 0 {
				when = "wide"
			}
			got = append(got, strings.ToUpper(column.Name)+" "+when)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s prints %q, the table says %q", version, got, want)
		}
	}
}

// rows returns the cells of a table, without its head.
func rows(lines []string) [][]string {
	var cells [][]string
	for _, line := range lines[2:] {
		var row []string
		for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
			row = append(row, strings.TrimSpace(cell))
		}
		cells = append(cells, row)
	}
	return cells
}
