// Package store is the generic registry store with the answers that all our stored kinds share: what a body that does not fit the
// schema is told, and an object that is too large for etcd.
//
// It may import apimachinery, apiserver and pkg/apis only.
package store

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
)

// Store wraps the generic store of one resource.
type Store struct {
	*genericregistry.Store
	// Kind is how errors call the objects.
	Kind string
}

// malformable is an internal object whose body the decoder may have found wrong.
type malformable interface {
	GetMalformed() *multicluster.Malformed
	SetMalformed(*multicluster.Malformed)
}

// Create stores a new object.
func (s *Store) Create(ctx context.Context, obj runtime.Object, createValidation rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	if err := s.refuseMalformed(obj, nil); err != nil {
		return nil, err
	}
	created, err := s.Store.Create(ctx, obj, createValidation, options)
	return created, s.explain(err, obj)
}

// Update stores a changed object.
func (s *Store) Update(ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc, updateValidation rest.ValidateObjectUpdateFunc, forceAllowCreate bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	var last runtime.Object
	checked := rest.WrapUpdatedObjectInfo(objInfo, func(_ context.Context, updated, stored runtime.Object) (runtime.Object, error) {
		last = updated
		return updated, s.refuseMalformed(updated, stored)
	})
	updated, isNew, err := s.Store.Update(ctx, name, checked, createValidation, updateValidation, forceAllowCreate, options)
	return updated, isNew, s.explain(err, last)
}

// Delete removes an object, or marks it as about to be.
func (s *Store) Delete(ctx context.Context, name string, deleteValidation rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	deleted, done, err := s.Store.Delete(ctx, name, deleteValidation, options)
	return deleted, done, s.explain(err, nil)
}

// refuseMalformed answers what the decoder found wrong, but for what is stored like that already.
func (s *Store) refuseMalformed(obj, stored runtime.Object) error {
	m, ok := obj.(malformable)
	if !ok || m.GetMalformed() == nil {
		return nil
	}
	found := m.GetMalformed().NewIn(stored)
	if len(found) == 0 {
		m.SetMalformed(nil)
		return nil
	}
	name := ""
	if accessor, err := meta.Accessor(obj); err == nil {
		name = accessor.GetName()
	}
	return apierrors.NewInvalid(s.DefaultQualifiedResource.WithVersion("").GroupVersion().WithKind(s.Kind).GroupKind(), name, found)
}
