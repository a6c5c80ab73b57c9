package clusterstatus

import (
	"fmt"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	apistorage "k8s.io/apiserver/pkg/storage"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// attributes returns what selectors of a ClusterStatus may name.
func attributes(obj runtime.Object) (labels.Set, fields.Set, error) {
	status, ok := obj.(*binnacle.ClusterStatus)
	if !ok {
		return nil, nil, fmt.Errorf("%T is no ClusterStatus", obj)
	}
	own := fields.Set{
		binnacle.SelectorPhase:             string(status.Status.Phase),
		binnacle.SelectorKubernetesVersion: status.Status.KubernetesVersion,
		binnacle.SelectorClusterManager:    status.Status.ClusterManager,
	}
	return status.Labels, generic.AddObjectMetaFieldsSet(own, &status.ObjectMeta, true), nil
}

// predicate is what a list or a watch selects.
func predicate(label labels.Selector, field fields.Selector) apistorage.SelectionPredicate {
	return apistorage.SelectionPredicate{Label: label, Field: field, GetAttrs: attributes}
}
