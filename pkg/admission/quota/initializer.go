package quota

import (
	"time"

	"k8s.io/apiserver/pkg/admission"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// callTimeout bounds one call of the hub, for which the library waits without a limit of its own. It is long, since a write of which
// nobody knows whether it was done is done again, and then counts twice until the hub's controller counts anew. The library gives a
// create up after ten seconds in any case.
const callTimeout = 8 * time.Second

// initializer gives the plugin what it counts by. It runs after the library's own initializer, and replaces its client.
type initializer struct {
	client kubernetes.Interface
	counts quotav1.Configuration
}

// NewInitializer returns the initializer of the plugin, for a server whose identity on the hub is config.
func NewInitializer(config *rest.Config) (admission.PluginInitializer, error) {
	config = rest.CopyConfig(config)
	// Each create in a namespace with a quota is a call: with the client's default rate there could be five of them a second.
	config.Timeout, config.QPS = callTimeout, -1
	client, err := kubernetes.NewForConfig(config)
	// Without evaluators every kind is counted by the number of its objects, and by nothing else.
	return initializer{client, generic.NewConfiguration(nil, nil)}, err
}

// Initialize implements admission.PluginInitializer.
func (i initializer) Initialize(p admission.Interface) {
	if quota, ok := p.(plugin); ok {
		quota.SetExternalKubeClientSet(patient{i.client})
		quota.SetQuotaConfiguration(i.counts)
	}
}
