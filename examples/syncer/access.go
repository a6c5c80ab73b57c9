package main

import (
	"encoding/json"
	"errors"
	"os"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha2"
)

// errNoAccess is returned for a cluster that has no access provider for which there is a plugin.
var errNoAccess = errors.New("no access provider of the ClusterProfile is in the provider file")

// member is a connection to a cluster.
type member struct {
	version string // of the ClusterProfile that it was made from
	client  dynamic.Interface
	mapper  meta.RESTMapper
}

// members connects to clusters as their ClusterProfiles say (KEP-4322, Access Providers).
type members struct {
	// Providers are in the order of preference. Only what comes from here is run: a ClusterProfile names a plugin and nothing more.
	Providers []struct {
		Name       string                 `json:"name"`
		ExecConfig clientcmdv1.ExecConfig `json:"execConfig"`
	} `json:"providers"`

	known sync.Map // of *member by cache.ObjectName
}

func newMembers(file string) (*members, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	m := &members{}
	return m, yaml.UnmarshalStrict(data, m)
}

// config says how to reach a cluster: the first plugin that it has an access provider for gets the credentials, as with a kubeconfig file.
func (m *members) config(profile *v1alpha2.ClusterProfile) (*rest.Config, error) {
	for _, plugin := range m.Providers {
		for _, access := range profile.Status.AccessProviders {
			if ptr.Deref(access.Name, "") != plugin.Name {
				continue
			}
			data, err := json.Marshal(access.Cluster) // It has the keys of a kubeconfig file.
			if err != nil {
				return nil, err
			}
			var cluster clientcmdv1.Cluster
			if err := json.Unmarshal(data, &cluster); err != nil {
				return nil, err
			}
			cluster.InsecureSkipTLSVerify = false // Who may write a status must not be able to get our credentials.
			exec := plugin.ExecConfig
			exec.InteractiveMode = clientcmdv1.NeverExecInteractiveMode
			kubeconfig, err := json.Marshal(clientcmdv1.Config{Kind: "Config", APIVersion: "v1", CurrentContext: "member",
				Clusters:  []clientcmdv1.NamedCluster{{Name: "member", Cluster: cluster}},
				AuthInfos: []clientcmdv1.NamedAuthInfo{{Name: "member", AuthInfo: clientcmdv1.AuthInfo{Exec: &exec}}},
				Contexts:  []clientcmdv1.NamedContext{{Name: "member", Context: clientcmdv1.Context{Cluster: "member", AuthInfo: "member"}}}})
			if err != nil {
				return nil, err
			}
			return clientcmd.RESTConfigFromKubeConfig(kubeconfig)
		}
	}
	return nil, errNoAccess
}

// connect returns the connection to a cluster, a new one where its ClusterProfile changed.
func (m *members) connect(profile *v1alpha2.ClusterProfile) (*member, error) {
	name := cache.MetaObjectToName(profile)
	if known, ok := m.known.Load(name); ok && known.(*member).version == profile.ResourceVersion {
		return known.(*member), nil
	}
	config, err := m.config(profile)
	if err != nil {
		return nil, err
	}
	config.Timeout = 10 * time.Second
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	made := &member{profile.ResourceVersion, client, restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds))}
	m.known.Store(name, made)
	return made, nil
}
