package clusterprofile

import (
	"context"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha2"
	"github.com/binnacle-dev/binnacle/pkg/registry/store"
)

// strategy is the rules of the main resource: everything may be written but the status.
type strategy struct{ store.Strategy }

// PrepareForCreate drops the status, which only its subresource writes.
func (strategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	profile := obj.(*multicluster.ClusterProfile)
	profile.Status = multicluster.ClusterProfileStatus{}
	profile.Generation = 1
}

// PrepareForUpdate keeps the status, and counts changes of the spec.
func (strategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	profile, oldProfile := obj.(*multicluster.ClusterProfile), old.(*multicluster.ClusterProfile)
	profile.Status = oldProfile.Status
	if !apiequality.Semantic.DeepEqual(profile.Spec, oldProfile.Spec) {
		profile.Generation = oldProfile.Generation + 1
	}
}

// GetResetFields tells server-side apply that writers of the main resource never own the status.
func (strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return inEachVersion(fieldpath.NewSet(fieldpath.MakePathOrDie("status")))
}

// inEachVersion gives every served version the same set.
func inEachVersion(set *fieldpath.Set) map[fieldpath.APIVersion]*fieldpath.Set {
	return map[fieldpath.APIVersion]*fieldpath.Set{
		fieldpath.APIVersion(v1alpha1.SchemeGroupVersion.String()): set,
		fieldpath.APIVersion(v1alpha2.SchemeGroupVersion.String()): set,
	}
}

// attributes returns what selectors of a ClusterProfile may name.
func attributes(obj runtime.Object) (labels.Set, fields.Set, error) {
	profile, ok := obj.(*multicluster.ClusterProfile)
	if !ok {
		return nil, nil, fmt.Errorf("%T is no ClusterProfile", obj)
	}
	own := fields.Set{multicluster.SelectorClusterManagerName: ptr.Deref(profile.Spec.ClusterManager.Name, "")}
	return profile.Labels, generic.AddObjectMetaFieldsSet(own, &profile.ObjectMeta, true), nil
}
