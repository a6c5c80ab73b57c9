package store

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
	storeerr "k8s.io/apiserver/pkg/storage/errors"
)

// Change swaps an object for what a function makes of it, and calls the function again whenever somebody else wrote in between, or what it
// was first called with was not the newest. It must return a copy. What it returns unchanged is not written. It is for the server's own
// writes: neither strategy nor admission is asked.
func (s *Store) Change(ctx context.Context, name string, dryRun bool, change func(existing runtime.Object) (runtime.Object, error)) (runtime.Object, error) {
	key, err := s.KeyFunc(ctx, name)
	if err != nil {
		return nil, err
	}
	var last runtime.Object
	out := s.NewFunc()
	err = s.Storage.GuaranteedUpdate(ctx, key, out, false, nil, func(existing runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) {
		changed, err := change(existing)
		last = changed
		return changed, nil, err
	}, dryRun, nil)
	if err != nil {
		return nil, s.explain(storeerr.InterpretUpdateError(err, s.DefaultQualifiedResource, name), last)
	}
	return out, nil
}
