package apiserver

import (
	"k8s.io/apiserver/pkg/admission"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"

	"github.com/binnacle-dev/binnacle/pkg/admission/quota"
)

// AddAdmissionPlugins adds to the library's admission plugins those that it has but does not run by itself. Quotas come last: what
// another plugin refuses is not counted.
func AddAdmissionPlugins(o *genericoptions.RecommendedOptions) {
	quota.Register(o.Admission.Plugins)
	o.Admission.RecommendedPluginOrder = append(o.Admission.RecommendedPluginOrder, quota.PluginName)
	o.ExtraAdmissionInitializers = func(c *genericapiserver.RecommendedConfig) ([]admission.PluginInitializer, error) {
		if c.ClientConfig == nil { // There is no hub, and so there is no admission.
			return nil, nil
		}
		initializer, err := quota.NewInitializer(c.ClientConfig)
		return []admission.PluginInitializer{initializer}, err
	}
}
