package quota

import (
	"time"

	"k8s.io/apiserver/pkg/admission"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// callTimeout bounds one call of the hub. The library makes up to four for a write, and gives a write up after ten seconds.
const callTimeout = 2 * time.Second

// initializer gives the plugin what it counts by. It runs after the library's own initializer, and replaces its client.
type initializer struct {
	client kubernetes.Interface
	counts quotav1.Configuration
}

// NewInitializer returns the initializer of the plugin, for a server whose identity on the hub is config.
func NewInitializer(config *rest.Config) (admission.PluginInitializer, error) {
	config = rest.CopyConfig(config)
	// The library waits for the hub without a limit of its own. And each create in a namespace with a quota is a call: with the client's
	// default rate there could be five of them a second.
	config.Timeout, config.QPS = callTimeout, -1
	client, err := kubernetes.NewForConfig(config)
	// Without evaluators every kind is counted by the number of its objects, and by nothing else.
	return initializer{client, generic.NewConfiguration(nil, nil)}, err
}

// Initialize implements admission.PluginInitializer.
func (i initializer) Initialize(p admission.Interface) {
	if quota, ok := p.(plugin); ok {
		quota.SetExternalKubeClientSet(i.client)
		quota.SetQuotaConfiguration(i.counts)
	}
}
