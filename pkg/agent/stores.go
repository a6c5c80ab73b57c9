package agent

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
)

// nodeStore and podStore put into the inventory what a reflector brings. A first list comes as a whole or not at all.
type (
	nodeStore struct{ *inventory }
	podStore  struct{ *inventory }
)

var _, _ cache.TransformingStore = nodeStore{}, podStore{}

// Transformer makes a reflector keep digests while a list is still on its way.
func (s nodeStore) Transformer() cache.TransformFunc { return digest }

// Add implements cache.ReflectorStore.
func (s nodeStore) Add(object any) error { return with(object, s.setNode) }

// Update implements cache.ReflectorStore.
func (s nodeStore) Update(object any) error { return with(object, s.setNode) }

// Delete implements cache.ReflectorStore.
func (s nodeStore) Delete(object any) error {
	return with(object, func(d *nodeDigest) { s.deleteNode(d.Name) })
}

// Replace implements cache.ReflectorStore.
func (s nodeStore) Replace(objects []any, _ string) error {
	return withAll(objects, s.replaceNodes)
}

// Resync implements cache.ReflectorStore.
func (s nodeStore) Resync() error { return nil }

// Transformer makes a reflector keep digests while a list is still on its way.
func (s podStore) Transformer() cache.TransformFunc { return digest }

// Add implements cache.ReflectorStore.
func (s podStore) Add(object any) error { return with(object, s.setPod) }

// Update implements cache.ReflectorStore.
func (s podStore) Update(object any) error { return with(object, s.setPod) }

// Delete implements cache.ReflectorStore.
func (s podStore) Delete(object any) error { return with(object, s.deletePod) }

// Replace implements cache.ReflectorStore.
func (s podStore) Replace(objects []any, _ string) error { return withAll(objects, s.replacePods) }

// Resync implements cache.ReflectorStore.
func (s podStore) Resync() error { return nil }

func with[D any](object any, do func(D)) error {
	d, err := digest(object)
	if err != nil {
		return err
	}
	do(d.(D))
	return nil
}

func withAll[D any](objects []any, do func([]D)) error {
	list := make([]D, 0, len(objects))
	for _, object := range objects {
		if err := with(object, func(d D) { list = append(list, d) }); err != nil {
			return err
		}
	}
	do(list)
	return nil
}

// propertyStore puts ClusterProperty objects into properties.
type propertyStore struct{ *properties }

// Add implements cache.ReflectorStore.
func (s propertyStore) Add(object any) error {
	property := object.(*unstructured.Unstructured)
	s.set(property.GetName(), valueOf(property))
	return nil
}

// Update implements cache.ReflectorStore.
func (s propertyStore) Update(object any) error { return s.Add(object) }

// Delete implements cache.ReflectorStore.
func (s propertyStore) Delete(object any) error {
	s.delete(object.(*unstructured.Unstructured).GetName())
	return nil
}

// Replace implements cache.ReflectorStore.
func (s propertyStore) Replace(objects []any, _ string) error {
	values := make(map[string]string, len(objects))
	for _, object := range objects {
		property := object.(*unstructured.Unstructured)
		values[property.GetName()] = valueOf(property)
	}
	s.replace(values)
	return nil
}

// Resync implements cache.ReflectorStore.
func (s propertyStore) Resync() error { return nil }

func valueOf(property *unstructured.Unstructured) string {
	value, _, _ := unstructured.NestedString(property.Object, "spec", "value")
	return value
}
