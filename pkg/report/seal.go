package report

import (
	"context"

	"k8s.io/apiserver/pkg/storage/value"

	"github.com/binnacle-dev/binnacle/pkg/report/pages"
)

// KeyContext is what encryption binds a value to: the key, as the storage of the library has it.
type KeyContext string

var _ value.Context = KeyContext("")

// AuthenticatedData implements value.Context.
func (k KeyContext) AuthenticatedData() []byte { return []byte(k) }

// Seal returns the value of a page as it lies in etcd under a key: encoded, and compressed and encrypted by the transformer.
func Seal(ctx context.Context, transformer value.Transformer, key string, page pages.Message) ([]byte, error) {
	encoded, err := pages.Encode(page)
	if err != nil {
		return nil, err
	}
	return transformer.TransformToStorage(ctx, encoded, KeyContext(key))
}
