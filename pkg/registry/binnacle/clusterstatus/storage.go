package clusterstatus

import (
	"context"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/clusterstatus/viewlog"
)

// keyRoot is what the keys of the registry begin with.
const keyRoot = "/clusterstatuses"

// REST serves clusterstatuses. The store is no embedded one: what it can do beyond reading must not be offered.
type REST struct{ store *genericregistry.Store }

var (
	_ rest.Getter               = &REST{}
	_ rest.Lister               = &REST{}
	_ rest.Watcher              = &REST{}
	_ rest.Scoper               = &REST{}
	_ rest.SingularNameProvider = &REST{}
	_ rest.ShortNamesProvider   = &REST{}
	_ rest.CategoriesProvider   = &REST{}
)

// NewREST returns the storage of ClusterStatuses over an event log. Barrier makes a read consistent with etcd.
func NewREST(log *viewlog.Log, barrier func(context.Context) (int64, error)) *REST {
	resource := binnacle.Resource("clusterstatuses")
	storage := viewlog.NewStorage(log, viewlog.StorageOptions{Prefix: keyRoot, Resource: resource, Attributes: attributes, Barrier: barrier})
	return &REST{&genericregistry.Store{
		NewFunc:                   func() runtime.Object { return &binnacle.ClusterStatus{} },
		NewListFunc:               func() runtime.Object { return &binnacle.ClusterStatusList{} },
		DefaultQualifiedResource:  resource,
		SingularQualifiedResource: binnacle.Resource("clusterstatus"),
		KeyRootFunc: func(ctx context.Context) string {
			return genericregistry.NamespaceKeyRootFunc(ctx, keyRoot)
		},
		KeyFunc: func(ctx context.Context, name string) (string, error) {
			return genericregistry.NamespaceKeyFunc(ctx, keyRoot, name)
		},
		PredicateFunc:      predicate,
		TableConvertor:     tableConvertor,
		ReadinessCheckFunc: storage.ReadinessCheck,
		Storage:            genericregistry.DryRunnableStorage{Storage: storage},
		DestroyFunc:        func() {},
	}}
}

// New returns an empty ClusterStatus.
func (r *REST) New() runtime.Object { return r.store.New() }

// NewList returns an empty ClusterStatusList.
func (r *REST) NewList() runtime.Object { return r.store.NewList() }

// Destroy does nothing.
func (r *REST) Destroy() {}

// NamespaceScoped is true.
func (r *REST) NamespaceScoped() bool { return true }

// GetSingularName is clusterstatus.
func (r *REST) GetSingularName() string { return r.store.GetSingularName() }

// ShortNames is what kubectl users may type.
func (r *REST) ShortNames() []string { return []string{"cst"} }

// Categories are the groups of kinds that kubectl get takes.
func (r *REST) Categories() []string { return []string{"multicluster"} }

// Get returns the ClusterStatus of a name.
func (r *REST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return r.store.Get(ctx, name, options)
}

// List returns the ClusterStatuses that are selected.
func (r *REST) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	return r.store.List(ctx, options)
}

// Watch sends their changes.
func (r *REST) Watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error) {
	return r.store.Watch(ctx, options)
}

// ConvertToTable returns the columns that kubectl prints.
func (r *REST) ConvertToTable(ctx context.Context, object, tableOptions runtime.Object) (*metav1.Table, error) {
	return r.store.ConvertToTable(ctx, object, tableOptions)
}

// ReadinessCheck says why the view cannot be served yet.
func (r *REST) ReadinessCheck() error { return r.store.ReadinessCheckFunc() }
