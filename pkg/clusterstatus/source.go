package clusterstatus

import (
	"context"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"

	"github.com/binnacle-dev/binnacle/pkg/report"
)

// source is one of our resources in etcd: where its values lie, and how they are read.
type source struct {
	// prefix of the keys, with a slash at the end.
	prefix string
	config *storagebackend.ConfigForResource
}

// newSource finds out where the storage keeps a resource.
func newSource(getter generic.RESTOptionsGetter, resource schema.GroupResource, example runtime.Object) (source, error) {
	options, err := getter.GetRESTOptions(resource, example)
	if err != nil {
		return source{}, err
	}
	if options.StorageConfig.Transformer == nil {
		options.StorageConfig.Transformer = identity.NewEncryptCheckTransformer()
	}
	return source{prefix: path.Join("/", options.StorageConfig.Prefix, options.ResourcePrefix) + "/", config: options.StorageConfig}, nil
}

// transformer returns what stands between a value and its bytes in etcd: compression, and encryption at rest.
func (s source) transformer() value.Transformer { return s.config.Transformer }

// open returns the value behind compression and encryption, and whether it would be stored otherwise now.
func (s source) open(ctx context.Context, key string, data []byte) (opened []byte, stale bool, err error) {
	return s.transformer().TransformFromStorage(ctx, data, report.KeyContext(key))
}

// decode reads an object into the internal type, as the storage does.
func (s source) decode(ctx context.Context, key string, data []byte) (runtime.Object, error) {
	opened, _, err := s.open(ctx, key, data)
	if err != nil {
		return nil, err
	}
	return runtime.Decode(s.config.Codec, opened)
}

// below returns a key without the prefix.
func (s source) below(key string) (string, bool) { return strings.CutPrefix(key, s.prefix) }
