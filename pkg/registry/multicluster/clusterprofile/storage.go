package clusterprofile

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/registry/store"
)

// REST serves clusterprofiles.
type REST struct{ *store.Store }

// StatusREST serves clusterprofiles/status.
type StatusREST struct{ store *store.Store }

var (
	_ rest.ShortNamesProvider   = &REST{}
	_ rest.CategoriesProvider   = &REST{}
	_ rest.StandardStorage      = &REST{}
	_ rest.Patcher              = &StatusREST{}
	_ rest.ResetFieldsStrategy  = &StatusREST{}
	_ rest.TableConvertor       = &StatusREST{}
	_ rest.SingularNameProvider = &REST{}
)

// NewREST returns the storage of ClusterProfiles and of their status.
func NewREST(scheme *runtime.Scheme, optsGetter generic.RESTOptionsGetter) (*REST, *StatusREST, error) {
	s := strategy{store.NewStrategy(scheme)}
	generics := &genericregistry.Store{
		NewFunc:                   func() runtime.Object { return &multicluster.ClusterProfile{} },
		NewListFunc:               func() runtime.Object { return &multicluster.ClusterProfileList{} },
		DefaultQualifiedResource:  multicluster.Resource("clusterprofiles"),
		SingularQualifiedResource: multicluster.Resource("clusterprofile"),
		CreateStrategy:            s,
		UpdateStrategy:            s,
		DeleteStrategy:            s,
		ResetFieldsStrategy:       s,
		TableConvertor:            tableConvertor,
	}
	if err := generics.CompleteWithOptions(&generic.StoreOptions{RESTOptions: optsGetter, AttrFunc: attributes}); err != nil {
		return nil, nil, err
	}
	status := *generics
	status.UpdateStrategy = statusStrategy{s}
	status.ResetFieldsStrategy = statusStrategy{s}
	const kind = "ClusterProfile"
	return &REST{&store.Store{Store: generics, Kind: kind}}, &StatusREST{&store.Store{Store: &status, Kind: kind}}, nil
}

// ShortNames is what kubectl users may type.
func (*REST) ShortNames() []string { return []string{"cp"} }

// Categories are the groups of kinds that kubectl get takes.
func (*REST) Categories() []string { return []string{"multicluster"} }

// New returns an empty ClusterProfile.
func (r *StatusREST) New() runtime.Object { return &multicluster.ClusterProfile{} }

// Destroy does nothing: the storage belongs to REST.
func (r *StatusREST) Destroy() {}

// Get returns the whole object, as the main resource does.
func (r *StatusREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return r.store.Get(ctx, name, options)
}

// Update writes the status. It never creates: there is no status without a profile.
func (r *StatusREST) Update(ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc, updateValidation rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return r.store.Update(ctx, name, objInfo, createValidation, updateValidation, false, options)
}

// GetResetFields tells server-side apply what writers of the status never own.
func (r *StatusREST) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return r.store.GetResetFields()
}

// ConvertToTable shows the same columns as the main resource.
func (r *StatusREST) ConvertToTable(ctx context.Context, object, tableOptions runtime.Object) (*metav1.Table, error) {
	return r.store.ConvertToTable(ctx, object, tableOptions)
}
