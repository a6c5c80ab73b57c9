package bodycheck

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Cached returns a resolver that asks inner once for each kind: to put a schema together takes longer than to check a body against it.
// What it returns is shared, and must not be changed.
func Cached(inner resolver.SchemaResolver) resolver.SchemaResolver {
	return &cached{inner: inner}
}

type cached struct {
	inner   resolver.SchemaResolver
	schemas sync.Map // of *spec.Schema by schema.GroupVersionKind; only of kinds that inner knows
}

// ResolveSchema implements resolver.SchemaResolver.
func (c *cached) ResolveSchema(gvk schema.GroupVersionKind) (*spec.Schema, error) {
	if known, ok := c.schemas.Load(gvk); ok {
		return known.(*spec.Schema), nil
	}
	resolved, err := c.inner.ResolveSchema(gvk)
	if err != nil {
		return nil, err
	}
	known, _ := c.schemas.LoadOrStore(gvk, resolved)
	return known.(*spec.Schema), nil
}
