package apiserver

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apiserver/filters"
	binnaclerest "github.com/binnacle-dev/binnacle/pkg/registry/binnacle/rest"
	"github.com/binnacle-dev/binnacle/pkg/registry/binnacle/rollout"
	"github.com/binnacle-dev/binnacle/pkg/registry/multicluster/placementdecision"
	"github.com/binnacle-dev/binnacle/pkg/version"
)

// rolloutLocks is where requests that need the same output lock each other out.
const rolloutLocks = binnacle.GroupName + "/rolloutlocks"

// installBinnacle serves the kinds of our own group, as far as they are enabled. All of them need the view of the clusters.
func (c Config) installBinnacle(server *genericapiserver.GenericAPIServer, decisions *placementdecision.REST, direct *reportHandler) error {
	if !c.anyEnabled(binnaclerest.Versions, binnaclerest.Resources) {
		return nil
	}
	status, err := newClusterStatus(c.ClusterStatus, server, &c.Generic.Config)
	if err != nil {
		return err
	}
	rollouts := rollout.Config{
		Scheme: Scheme, Options: c.Generic.RESTOptionsGetter, Decisions: decisions, View: status.engine,
		Etcd: status.engine.Client, LockPrefix: c.ClusterStatus.keys() + rolloutLocks,
		Authorizer: c.Generic.Authorization.Authorizer, Collects: c.Generic.ClientConfig == nil,
	}
	if c.Generic.ClientConfig != nil {
		rollouts.Terminating = c.terminating()
		if rollouts.Events, err = newEventRecorder(c.Generic.ClientConfig, server); err != nil {
			return err
		}
	}
	group := genericapiserver.NewDefaultAPIGroupInfo(binnacle.GroupName, Scheme, runtime.NewParameterCodec(Scheme), Codecs)
	var mover *rollout.Mover
	group.VersionedResourcesStorageMap, mover, err = binnaclerest.NewStorage(Scheme, c.Generic.MergedResourceConfig, status.engine, status.table, rollouts)
	if err != nil {
		return err
	}
	if err := server.InstallAPIGroup(&group); err != nil {
		return err
	}
	if storage, ok := group.VersionedResourcesStorageMap[reportResource.Version]["clusterstatuses/report"].(registryrest.NamedCreater); ok {
		direct.serve(storage, server.EquivalentResourceRegistry)
	}
	if err := status.addTo(server); err != nil || mover == nil {
		return err
	}
	rollout.RegisterMetrics(mover)
	return moveRollouts(server, mover, status.engine.Client, c.ClusterStatus.keys())
}

// anyEnabled says whether any of the resources is served in any of the versions.
func (c Config) anyEnabled(versions []schema.GroupVersion, resources []string) bool {
	for _, version := range versions {
		for _, resource := range resources {
			if c.Generic.MergedResourceConfig.ResourceEnabled(version.WithResource(resource)) {
				return true
			}
		}
	}
	return false
}

// terminating says of a namespace of the hub whether it is being deleted, as the informer has it that admission needs as well.
func (c Config) terminating() func(string) bool {
	namespaces := c.Generic.SharedInformerFactory.Core().V1().Namespaces().Lister()
	return func(name string) bool {
		namespace, err := namespaces.Get(name)
		return err == nil && namespace.DeletionTimestamp != nil
	}
}

// newEventRecorder returns what takes events to the hub while the server runs.
func newEventRecorder(config *rest.Config, server *genericapiserver.GenericAPIServer) (record.EventRecorder, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = 50, 100
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	broadcaster := record.NewBroadcaster()
	recorder := broadcaster.NewRecorder(Scheme, corev1.EventSource{Component: version.Component})
	return recorder, server.AddPostStartHook("events", func(ctx genericapiserver.PostStartHookContext) error {
		broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events(metav1.NamespaceAll)})
		go func() {
			<-ctx.Done()
			broadcaster.Shutdown()
		}()
		return nil
	})
}

// rolloutSubresources are those of rollouts.
func rolloutSubresources() []filters.Subresource {
	found := []filters.Subresource{{GroupResource: binnacle.Resource("rollouts"), Name: "preview"}}
	for _, verb := range binnacle.RolloutVerbs {
		found = append(found, filters.Subresource{GroupResource: binnacle.Resource("rollouts"), Name: string(verb)})
	}
	return found
}
