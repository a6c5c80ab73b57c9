// Package rest puts the storage of the group binnacle.dev together: which resources are served in which versions.
package rest

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
	serverstorage "k8s.io/apiserver/pkg/server/storage"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	view "github.com/binnacle-dev/binnacle/pkg/clusterstatus"
	"github.com/binnacle-dev/binnacle/pkg/registry/binnacle/clusterstatus"
	"github.com/binnacle-dev/binnacle/pkg/registry/binnacle/rollout"
	"github.com/binnacle-dev/binnacle/pkg/registry/multicluster/placementdecision"
	"github.com/binnacle-dev/binnacle/pkg/report"
)

// Versions are the served versions of the group.
var Versions = []schema.GroupVersion{v1alpha1.SchemeGroupVersion}

// Resources are those of the group, without subresources.
var Resources = []string{"clusterstatuses", "rollouts"}

// NewStorage returns the storage of each enabled version, by version and resource, and what moves Rollouts, nil where they are not enabled.
func NewStorage(scheme *runtime.Scheme, enabled *serverstorage.ResourceConfig, engine *view.Engine, table *report.Table, rollouts rollout.Config) (map[string]map[string]rest.Storage, *rollout.Mover, error) {
	version := v1alpha1.SchemeGroupVersion
	resources := map[string]rest.Storage{}
	if enabled.ResourceEnabled(version.WithResource("clusterstatuses")) {
		resources["clusterstatuses"] = clusterstatus.NewREST(engine.Log, engine.Barrier)
		resources["clusterstatuses/report"] = clusterstatus.NewReportREST(scheme, engine, table)
	}
	var mover *rollout.Mover
	if enabled.ResourceEnabled(version.WithResource("rollouts")) {
		stored, moved, err := rollout.NewREST(rollouts)
		if err != nil {
			return nil, nil, err
		}
		mover = moved
		rollouts.Decisions.Guard = &placementdecision.Guard{Owners: stored, Terminating: rollouts.Terminating}
		resources["rollouts"] = stored
		for name, subresource := range rollout.Subresources(scheme, mover) {
			resources["rollouts/"+name] = subresource
		}
	}
	served := map[string]map[string]rest.Storage{}
	if len(resources) > 0 {
		served[version.Version] = resources
	}
	return served, mover, nil
}
