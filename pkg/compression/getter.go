package compression

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
)

// getter puts compression before what another getter says of a resource's storage.
type getter struct {
	generic.RESTOptionsGetter
	write bool
}

// Getter returns the options of inner with compressed values. Without write it reads what is compressed and writes nothing so.
func Getter(inner generic.RESTOptionsGetter, write bool) generic.RESTOptionsGetter {
	return getter{inner, write}
}

// GetRESTOptions implements generic.RESTOptionsGetter.
func (g getter) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	options, err := g.RESTOptionsGetter.GetRESTOptions(resource, example)
	if err != nil {
		return options, err
	}
	// The configuration may be shared with other callers.
	config := *options.StorageConfig
	if config.Transformer, err = New(config.Transformer, g.write); err != nil {
		return options, err
	}
	options.StorageConfig = &config
	return options, nil
}
