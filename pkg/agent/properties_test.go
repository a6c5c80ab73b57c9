package agent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

func property(name, value string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "about.k8s.io/v1beta1", "kind": "ClusterProperty",
		"metadata": map[string]any{"name": name}, "spec": map[string]any{"value": value},
	}}
}

func TestProperties(t *testing.T) {
	p := &properties{}
	s := propertyStore{p}
	want := func(omitted int, pairs ...string) {
		t.Helper()
		var wanted []v1alpha1.ReportedProperty
		for i := 0; i < len(pairs); i += 2 {
			wanted = append(wanted, v1alpha1.ReportedProperty{Name: pairs[i], Value: pairs[i+1]})
		}
		got, left := p.summarize()
		if diff := cmp.Diff(wanted, got); diff != "" || left != omitted {
			t.Errorf("%d left out, want %d; properties (-want +got):\n%s", left, omitted, diff)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	want(0)
	if p.isListed() {
		t.Error("known before the list")
	}
	must(s.Replace([]any{property("b", "2"), property("a", "1"), &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "empty"}}}}, ""))
	want(0, "a", "1", "b", "2", "empty", "")
	must(s.Update(property("a", "3")))
	must(s.Add(property("c", strings.Repeat("é", maxPropertyValue))))
	must(s.Delete(property("b", "")))
	must(s.Delete(property("empty", "")))
	want(0, "a", "3", "c", strings.Repeat("é", maxPropertyValue))
	must(s.Update(property("c", strings.Repeat("é", maxPropertyValue+1))))
	want(1, "a", "3")
}

// TestNoProperties wants one answer that there is nothing to read to take away nothing that is known.
func TestNoProperties(t *testing.T) {
	gone, refused := apierrors.NewNotFound(schema.GroupResource{}, ""), apierrors.NewForbidden(schema.GroupResource{}, "", nil)
	tests := []struct {
		name    string
		known   map[string]string
		answers []error
		listed  bool
		left    int
	}{
		{"nothing asked yet", nil, nil, false, 0},
		{"no About API", nil, []error{gone}, true, 0},
		{"no right", nil, []error{refused}, true, 0},
		{"gone, said once", map[string]string{"a": "1"}, []error{gone}, true, 1},
		{"gone, said twice", map[string]string{"a": "1"}, []error{gone, gone}, true, 0},
		{"not allowed any more", map[string]string{"a": "1"}, []error{refused, refused, refused}, true, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := &properties{}
			if test.known != nil {
				p.replace(test.known)
			}
			for _, answer := range test.answers {
				p.absent(answer)
			}
			if got, _ := p.summarize(); len(got) != test.left || p.isListed() != test.listed {
				t.Errorf("%d properties, known: %v; want %d, %v", len(got), p.isListed(), test.left, test.listed)
			}
		})
	}
}

func TestManyProperties(t *testing.T) {
	p := &properties{}
	var all []any
	for n := range 300 {
		all = append(all, property(fmt.Sprintf("p%03d", n), "v"))
	}
	if err := (propertyStore{p}).Replace(all, ""); err != nil {
		t.Fatal(err)
	}
	if got, left := p.summarize(); len(got) != maxProperties || left != 300-maxProperties {
		t.Errorf("%d reported, %d left out", len(got), left)
	}
}
