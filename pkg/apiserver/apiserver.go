package apiserver

import (
	"fmt"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/component-base/featuregate"
	"k8s.io/utils/clock"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/apiserver/bodycheck"
	"github.com/binnacle-dev/binnacle/pkg/apiserver/filters"
	"github.com/binnacle-dev/binnacle/pkg/features"
	binnaclerest "github.com/binnacle-dev/binnacle/pkg/registry/binnacle/rest"
	multiclusterrest "github.com/binnacle-dev/binnacle/pkg/registry/multicluster/rest"
	"github.com/binnacle-dev/binnacle/pkg/version"
)

// Config is everything that a server needs.
type Config struct {
	Generic *genericapiserver.RecommendedConfig
	// Features are Binnacle's own gates; those of the Kubernetes libraries are in Generic.
	Features featuregate.FeatureGate
	// Traced says that traces are collected.
	Traced bool
	// ReportAuthorizer asks the hub for the rights of reporters; nil leaves that to the one that is asked for all others.
	ReportAuthorizer authorizer.Authorizer
	// ClusterStatus says how the view of the clusters is kept, and how reports are taken.
	ClusterStatus ClusterStatusConfig
}

// NewGenericConfig returns the generic configuration with our scheme, our OpenAPI documents and our filters.
func NewGenericConfig() *genericapiserver.RecommendedConfig {
	c := genericapiserver.NewRecommendedConfig(Codecs)
	namer := openapi.NewDefinitionNamer(Scheme)
	c.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(openAPIDefinitions, namer)
	c.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(openAPIDefinitions, namer)
	c.OpenAPIConfig.Info.Title, c.OpenAPIV3Config.Info.Title = "Binnacle", "Binnacle"
	c.OpenAPIConfig.Info.Version, c.OpenAPIV3Config.Info.Version = version.Release, version.Release
	c.OpenAPIConfig.PostProcessSpec, c.OpenAPIV3Config.PostProcessSpec = withoutStrategicMerge, withoutStrategicMergeV3
	return c
}

// DefaultResources are the versions that are served unless --runtime-config says otherwise.
func DefaultResources() *serverstorage.ResourceConfig {
	resources := serverstorage.NewResourceConfig()
	resources.EnableVersions(servedVersions()...)
	return resources
}

// servedVersions are the versions of all our groups.
func servedVersions() []schema.GroupVersion {
	return slices.Concat(multiclusterrest.Versions, binnaclerest.Versions)
}

// APIServiceNames are the names of the APIServices under which a hub sends us requests.
func APIServiceNames() []string {
	var names []string
	for _, gv := range servedVersions() {
		names = append(names, gv.Version+"."+gv.Group)
	}
	return names
}

// New returns a server with every enabled resource installed.
func (c Config) New() (*genericapiserver.GenericAPIServer, error) {
	schemas := bodycheck.Cached(resolver.NewDefinitionsSchemaResolver(openAPIDefinitions, Scheme))
	likeCustomResources := c.Features.Enabled(features.CustomResourceErrors)
	build := c.Generic.BuildHandlerChainFunc
	direct := &reportHandler{}
	c.Generic.BuildHandlerChainFunc = func(handler http.Handler, config *genericapiserver.Config) http.Handler {
		handler = filters.WithWarningsInTime(handler)
		if likeCustomResources {
			handler = filters.WithApplyBodyCheck(handler, Codecs, schemas, config.MaxRequestBodyBytes, isOurs)
		}
		handler = filters.WithFailedReviews(reportsApart(build, config, filters.WithCustomResourcePatchTypes(handler, Codecs, isPatchedAsCustom), direct, c.Traced), Codecs)
		drain := filters.Drain{
			Shutdown: config.ShutdownInitiatedNotify(), Delay: config.ShutdownDelayDuration,
			Resolver: config.RequestInfoResolver, LongRunning: config.LongRunningFunc,
		}
		return drain.Filter(handler)
	}
	if inner := c.Generic.Authorization.Authorizer; inner != nil {
		c.Generic.Authorization.Authorizer = RememberReporters(filters.MarkFailedReviews(inner), c.reportAuthorizer(), c.ClusterStatus.ReporterTTL, clock.RealClock{})
	}
	server, err := c.Generic.Complete().New(version.Component, genericapiserver.NewEmptyDelegate())
	if err != nil {
		return nil, err
	}
	group := genericapiserver.NewDefaultAPIGroupInfo(multicluster.GroupName, Scheme, metav1.ParameterCodec, Codecs)
	if likeCustomResources {
		group.NegotiatedSerializer = bodycheck.Serializer{NegotiatedSerializer: Codecs, Schemas: schemas}
	}
	served, decisions, err := multiclusterrest.NewStorage(Scheme, c.Generic.MergedResourceConfig, c.Generic.RESTOptionsGetter)
	if err != nil {
		return nil, err
	}
	group.VersionedResourcesStorageMap = served
	if len(served) == 0 {
		return nil, fmt.Errorf("nothing is left to serve: --runtime-config disables every version of %s", multicluster.GroupName)
	}
	if err := c.installBinnacle(server, decisions, direct); err != nil {
		return nil, err
	}
	if err := server.InstallAPIGroup(&group); err != nil {
		return nil, err
	}
	// Without this hook, which the library only fills, the server is ready before its watch cache is, and lists answer 429.
	return server, server.AddPostStartHook("storage-readiness", server.StorageReadinessHook.Hook)
}

// reportAuthorizer is nil where reporters' rights are asked for as all others are.
func (c Config) reportAuthorizer() authorizer.Authorizer {
	if c.ReportAuthorizer == nil {
		return nil
	}
	return filters.MarkFailedReviews(c.ReportAuthorizer)
}

// isOurs says whether a request is to a kind that behaves as a custom resource does.
func isOurs(info *request.RequestInfo) bool { return info.APIGroup == multicluster.GroupName }

// isPatchedAsCustom says whether a request is to a kind that is patched as custom resources are.
func isPatchedAsCustom(info *request.RequestInfo) bool {
	return isOurs(info) || info.APIGroup == binnacle.GroupName && info.Resource == "rollouts" && info.Subresource == ""
}
