package viewlog

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// registry returns the library's store over the fixture's storage, with the fields that reading needs.
func registry(f *fixture) *genericregistry.Store {
	return &genericregistry.Store{
		NewFunc:                   func() runtime.Object { return &binnacle.ClusterStatus{} },
		NewListFunc:               func() runtime.Object { return &binnacle.ClusterStatusList{} },
		DefaultQualifiedResource:  binnacle.Resource("clusterstatuses"),
		SingularQualifiedResource: binnacle.Resource("clusterstatus"),
		KeyRootFunc:               func(ctx context.Context) string { return genericregistry.NamespaceKeyRootFunc(ctx, testPrefix) },
		KeyFunc: func(ctx context.Context, name string) (string, error) {
			return genericregistry.NamespaceKeyFunc(ctx, testPrefix, name)
		},
		PredicateFunc: func(label labels.Selector, field fields.Selector) storage.SelectionPredicate {
			return storage.SelectionPredicate{Label: label, Field: field, GetAttrs: attributes}
		},
		TableConvertor:     rest.NewDefaultTableConvertor(binnacle.Resource("clusterstatuses")),
		Storage:            genericregistry.DryRunnableStorage{Storage: f.storage},
		ReadinessCheckFunc: f.storage.ReadinessCheck,
		DestroyFunc:        func() {},
	}
}

// TestUnderTheGenericStore: the library's store reads and watches through the storage as of any kind.
func TestUnderTheGenericStore(t *testing.T) {
	f := newFixture(t, wide)
	s := registry(f)
	all, ns := genericapirequest.WithNamespace(t.Context(), ""), genericapirequest.WithNamespace(t.Context(), "ns")
	if _, err := s.Get(ns, "a", &metav1.GetOptions{}); !apierrors.IsServiceUnavailable(err) || !apierrors.IsServiceUnavailable(s.ReadinessCheck()) {
		t.Errorf("before the view is loaded: %v", err)
	}
	f.reset(10, object("ns/a", "Ready", "ring", "one"), object("ns/b", "NotReady"), object("ns2/a", "Ready"))

	o, err := s.Get(ns, "a", &metav1.GetOptions{})
	if err != nil || o.(*binnacle.ClusterStatus).Labels["ring"] != "one" {
		t.Errorf("get: %v, %v", o, err)
	}
	if _, err := s.Get(ns, "x", &metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("get of what is not there: %v", err)
	}
	for name, tc := range map[string]struct {
		ctx     context.Context
		options metainternalversion.ListOptions
		want    []string
	}{
		"all":                     {all, metainternalversion.ListOptions{}, []string{"ns/a", "ns/b", "ns2/a"}},
		"a namespace":             {ns, metainternalversion.ListOptions{ResourceVersion: "0"}, []string{"ns/a", "ns/b"}},
		"by label":                {all, metainternalversion.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{"ring": "one"})}, []string{"ns/a"}},
		"by field":                {all, metainternalversion.ListOptions{FieldSelector: fields.OneTermEqualSelector(binnacle.SelectorPhase, "Ready")}, []string{"ns/a", "ns2/a"}},
		"by name in a namespace":  {ns, metainternalversion.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", "b")}, []string{"ns/b"}},
		"by name in all":          {all, metainternalversion.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", "a")}, []string{"ns/a", "ns2/a"}},
		"by namespace from all":   {all, metainternalversion.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.namespace", "ns2")}, []string{"ns2/a"}},
		"exact, inside the store": {all, metainternalversion.ListOptions{ResourceVersion: rv(10, 0), ResourceVersionMatch: "Exact"}, []string{"ns/a", "ns/b", "ns2/a"}},
	} {
		list, err := s.List(tc.ctx, &tc.options)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(tc.want, keysOf(list.(*binnacle.ClusterStatusList))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}

	one, err := s.Watch(ns, &metainternalversion.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", "b"), ResourceVersion: rv(10, 0)})
	if err != nil {
		t.Fatal(err)
	}
	defer one.Stop()
	yes := true
	synced, err := s.Watch(all, &metainternalversion.ListOptions{SendInitialEvents: &yes, ResourceVersionMatch: "NotOlderThan", AllowWatchBookmarks: true})
	if err != nil {
		t.Fatal(err)
	}
	defer synced.Stop()
	f.append(11, changed("ns/a", "NotReady"), changed("ns/b", "Ready"))
	if got, want := (&reader{t, one}).next(), "MODIFIED ns/b Ready "+rv(11, 2); got != want {
		t.Errorf("one: got %s, want %s", got, want)
	}
	want := []string{"ADDED ns/a Ready " + rv(10, 0), "ADDED ns/b NotReady " + rv(10, 0), "ADDED ns2/a Ready " + rv(10, 0), "BOOKMARK " + rv(10, 0) + " end",
		"MODIFIED ns/a NotReady " + rv(11, 1), "MODIFIED ns/b Ready " + rv(11, 2)}
	if diff := cmp.Diff(want, (&reader{t, synced}).take(6)); diff != "" {
		t.Error(diff)
	}
}
