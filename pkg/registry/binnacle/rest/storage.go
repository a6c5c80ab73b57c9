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
	"github.com/binnacle-dev/binnacle/pkg/report"
)

// Versions are the served versions of the group.
var Versions = []schema.GroupVersion{v1alpha1.SchemeGroupVersion}

// NewStorage returns the storage of each enabled version, by version and resource.
func NewStorage(scheme *runtime.Scheme, enabled *serverstorage.ResourceConfig, engine *view.Engine, table *report.Table) map[string]map[string]rest.Storage {
	served := map[string]map[string]rest.Storage{}
	if version := v1alpha1.SchemeGroupVersion; enabled.ResourceEnabled(version.WithResource("clusterstatuses")) {
		served[version.Version] = map[string]rest.Storage{
			"clusterstatuses":        clusterstatus.NewREST(engine.Log, engine.Barrier),
			"clusterstatuses/report": clusterstatus.NewReportREST(scheme, engine, table),
		}
	}
	return served
}
