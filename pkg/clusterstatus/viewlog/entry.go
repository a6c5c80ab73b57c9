package viewlog

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/storage"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// entry is one version of an object. It is shared by snapshots and events.
type entry struct {
	key    string // namespace/name
	object *binnacle.ClusterStatus
	size   int64

	// What selectors look at is worked out once for all who select, and only when the first does.
	once   sync.Once
	labels labels.Set
	fields fields.Set
	err    error
}

func newEntry(object *binnacle.ClusterStatus) *entry {
	return &entry{key: keyOf(object), object: object, size: sizeOf(object)}
}

// keyOf returns the key of an object: namespace/name.
func keyOf(object *binnacle.ClusterStatus) string {
	return object.Namespace + "/" + object.Name
}

func (e *entry) attributes(of storage.AttrFunc) (labels.Set, fields.Set, error) {
	e.once.Do(func() { e.labels, e.fields, e.err = of(e.object) })
	return e.labels, e.fields, e.err
}

const (
	// sizeOfObject is about what an object takes in memory beside its strings, lists and maps.
	sizeOfObject = 1024
	// sizeOfItem is about what an item of a list or of a map takes beside its strings.
	sizeOfItem = 96
)

// sizeOf estimates how much memory an object takes. It is what the log is bounded by, so it matters that it grows as objects do.
func sizeOf(o *binnacle.ClusterStatus) int64 {
	n, items := len(o.Name)+len(o.Namespace)+len(o.UID)+len(o.Status.ClusterManager)+len(o.Status.KubernetesVersion), 0
	for _, m := range []map[string]string{o.Labels, o.Annotations} {
		items += len(m)
		for k, v := range m {
			n += len(k) + len(v)
		}
	}
	items += len(o.Status.Conditions) + len(o.Status.Properties) + len(o.Status.Placements.Keys)
	for i := range o.Status.Conditions {
		n += len(o.Status.Conditions[i].Type) + len(o.Status.Conditions[i].Reason) + len(o.Status.Conditions[i].Message)
	}
	for i := range o.Status.Properties {
		n += len(o.Status.Properties[i].Name) + len(o.Status.Properties[i].Value)
	}
	for _, key := range o.Status.Placements.Keys {
		n += len(key)
	}
	if r := o.Status.Resources; r != nil {
		for _, list := range []corev1.ResourceList{r.Capacity, r.Allocatable, r.Available} {
			items += len(list)
		}
	}
	return int64(sizeOfObject + n + items*sizeOfItem)
}
