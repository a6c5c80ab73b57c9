package placementdecision

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/registry/store"
)

// REST serves placementdecisions. There is no status subresource (KEP-5313).
type REST struct {
	*store.Store
	// Guard protects the slices of Rollouts. It is nil where none are served. What goes through Store itself passes it by.
	Guard *Guard
}

var (
	_ rest.ShortNamesProvider = &REST{}
	_ rest.CategoriesProvider = &REST{}
	_ rest.StandardStorage    = &REST{}
)

// NewREST returns the storage of PlacementDecisions.
func NewREST(scheme *runtime.Scheme, optsGetter generic.RESTOptionsGetter) (*REST, error) {
	s := strategy{store.NewStrategy(scheme)}
	generics := &genericregistry.Store{
		NewFunc:                   func() runtime.Object { return &multicluster.PlacementDecision{} },
		NewListFunc:               func() runtime.Object { return &multicluster.PlacementDecisionList{} },
		DefaultQualifiedResource:  multicluster.Resource("placementdecisions"),
		SingularQualifiedResource: multicluster.Resource("placementdecision"),
		CreateStrategy:            s,
		UpdateStrategy:            s,
		DeleteStrategy:            s,
		TableConvertor:            tableConvertor,
	}
	if err := generics.CompleteWithOptions(&generic.StoreOptions{RESTOptions: optsGetter, AttrFunc: attributes}); err != nil {
		return nil, err
	}
	return &REST{Store: &store.Store{Store: generics, Kind: "PlacementDecision"}}, nil
}

// ShortNames is what kubectl users may type.
func (*REST) ShortNames() []string { return []string{"pd"} }

// Categories are the groups of kinds that kubectl get takes.
func (*REST) Categories() []string { return []string{"multicluster"} }
