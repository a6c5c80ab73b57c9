package apiserver

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	serverstorage "k8s.io/apiserver/pkg/server/storage"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	binnaclev1alpha1 "github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/compression"
)

// EtcdPrefix is under which all our keys lie in etcd.
const EtcdPrefix = "/registry/binnacle"

// stored says in which version each resource is stored. Its key is /<prefix>/<group>/<resource>/<namespace>/<name>: the group is part
// of it, since two groups may have a resource of one name. To change either is a migration.
var stored = map[schema.GroupResource]schema.GroupVersion{
	multicluster.Resource("clusterprofiles"):    v1alpha1.SchemeGroupVersion,
	multicluster.Resource("placementdecisions"): v1alpha1.SchemeGroupVersion,
	binnacle.Resource("rollouts"):               binnaclev1alpha1.SchemeGroupVersion,
}

// pagesPrefix is where the reports are kept: clusterstatuses themselves are computed and lie nowhere. Encryption at rest has them by the
// name of the resource.
const pagesPrefix = binnacle.GroupName + "/clusterstatuspages"

// ApplyStorage makes the server keep its objects in the etcd of the options, compressed where that is asked for. Call it after everything
// else of the config is applied.
func ApplyStorage(etcd *genericoptions.EtcdOptions, compress bool, c *genericapiserver.Config) error {
	etcd.StorageConfig.StorageObjectCountTracker = c.StorageObjectCountTracker
	etcd.StorageConfig.Transport.TracerProvider = c.TracerProvider
	if c.EgressSelector != nil {
		etcd.StorageConfig.Transport.EgressLookup = c.EgressSelector.Lookup
	}
	encoding := serverstorage.NewDefaultResourceEncodingConfigForEffectiveVersion(Scheme, c.EffectiveVersion)
	prefixes := map[schema.GroupResource]string{}
	for resource, version := range stored {
		encoding.SetResourceEncoding(resource, version, schema.GroupVersion{Group: resource.Group, Version: runtime.APIVersionInternal})
		prefixes[resource] = resource.Group + "/" + resource.Resource
	}
	prefixes[binnacle.Resource("clusterstatuses")] = pagesPrefix
	factory := serverstorage.NewDefaultStorageFactory(etcd.StorageConfig, etcd.DefaultStorageMediaType, Codecs, encoding, c.MergedResourceConfig, prefixes)
	if err := etcd.ApplyWithStorageFactoryTo(factory, c); err != nil {
		return err
	}
	c.RESTOptionsGetter = compression.Getter(c.RESTOptionsGetter, compress)
	return nil
}
