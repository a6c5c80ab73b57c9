// Package rest puts the storage of the group multicluster.x-k8s.io together: which resources are served in which versions.
package rest

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	serverstorage "k8s.io/apiserver/pkg/server/storage"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha2"
	"github.com/binnacle-dev/binnacle/pkg/registry/multicluster/clusterprofile"
	"github.com/binnacle-dev/binnacle/pkg/registry/multicluster/placementdecision"
)

// Versions are the served versions of the group.
var Versions = []schema.GroupVersion{v1alpha2.SchemeGroupVersion, v1alpha1.SchemeGroupVersion}

// NewStorage returns the storage of each enabled version, by version and resource. Both versions share one store: they are two views
// of the same objects. The storage of PlacementDecisions is returned also where it is not served: Rollouts publish there.
func NewStorage(scheme *runtime.Scheme, enabled *serverstorage.ResourceConfig, optsGetter generic.RESTOptionsGetter) (map[string]map[string]rest.Storage, *placementdecision.REST, error) {
	profiles, profileStatus, err := clusterprofile.NewREST(scheme, optsGetter)
	if err != nil {
		return nil, nil, err
	}
	decisions, err := placementdecision.NewREST(scheme, optsGetter)
	if err != nil {
		return nil, nil, err
	}
	served := map[string]map[string]rest.Storage{}
	for _, version := range Versions {
		resources := map[string]rest.Storage{}
		if enabled.ResourceEnabled(version.WithResource("clusterprofiles")) {
			resources["clusterprofiles"] = profiles
			resources["clusterprofiles/status"] = profileStatus
		}
		if enabled.ResourceEnabled(version.WithResource("placementdecisions")) {
			resources["placementdecisions"] = decisions
		}
		if len(resources) > 0 {
			served[version.Version] = resources
		}
	}
	return served, decisions, nil
}
