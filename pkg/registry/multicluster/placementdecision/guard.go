package placementdecision

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
)

// Guard keeps others from writing the slices that a Rollout owns: they are its projection. Slices of a Rollout that is gone or going are
// anybody's, so that the hub's garbage collector can delete or free them.
type Guard struct {
	// Owners knows the Rollouts.
	Owners Owners
	// Terminating says whether a namespace is being deleted, which deletes what is in it in any order. It is nil where there is no hub
	// that deletes namespaces.
	Terminating func(namespace string) bool
}

// Owners knows the Rollouts.
type Owners interface {
	// Live says whether there is a Rollout of this name and uid that is not about to be deleted.
	Live(ctx context.Context, namespace, name string, uid types.UID) (bool, error)
}

// OwnerOf returns the Rollout that a slice says it belongs to, nil where it says none.
func OwnerOf(decision *multicluster.PlacementDecision) *metav1.OwnerReference {
	owner := metav1.GetControllerOfNoCopy(decision)
	if owner == nil || owner.Kind != "Rollout" || !strings.HasPrefix(owner.APIVersion, binnacle.GroupName+"/") {
		return nil
	}
	return owner
}

// refuse is 403 for a write to the slice of a Rollout.
func (g *Guard) refuse(ctx context.Context, object runtime.Object) error {
	decision, ok := object.(*multicluster.PlacementDecision)
	if !ok || g == nil {
		return nil
	}
	owner := OwnerOf(decision)
	if owner == nil {
		return nil
	}
	namespace := request.NamespaceValue(ctx)
	live, err := g.Owners.Live(ctx, namespace, owner.Name, owner.UID)
	if err != nil || !live {
		return err
	}
	return apierrors.NewForbidden(multicluster.Resource("placementdecisions"), decision.Name,
		fmt.Errorf("it belongs to Rollout %s/%s, which alone writes it", namespace, owner.Name))
}

// deletion puts the guard before the validation of a deletion.
func (g *Guard) deletion(next rest.ValidateObjectFunc) rest.ValidateObjectFunc {
	return func(ctx context.Context, object runtime.Object) error {
		if g != nil && (g.Terminating == nil || !g.Terminating(request.NamespaceValue(ctx))) {
			if err := g.refuse(ctx, object); err != nil {
				return err
			}
		}
		return next(ctx, object)
	}
}

// Create stores a new PlacementDecision.
func (r *REST) Create(ctx context.Context, obj runtime.Object, createValidation rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	if err := r.Guard.refuse(ctx, obj); err != nil {
		return nil, err
	}
	return r.Store.Create(ctx, obj, createValidation, options)
}

// Update stores a changed PlacementDecision.
func (r *REST) Update(ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc, updateValidation rest.ValidateObjectUpdateFunc, forceAllowCreate bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	guarded := rest.WrapUpdatedObjectInfo(objInfo, func(ctx context.Context, updated, stored runtime.Object) (runtime.Object, error) {
		if err := r.Guard.refuse(ctx, stored); err != nil {
			return nil, err
		}
		return updated, r.Guard.refuse(ctx, updated)
	})
	return r.Store.Update(ctx, name, guarded, createValidation, updateValidation, forceAllowCreate, options)
}

// Delete removes a PlacementDecision.
func (r *REST) Delete(ctx context.Context, name string, deleteValidation rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	return r.Store.Delete(ctx, name, r.Guard.deletion(deleteValidation), options)
}

// DeleteCollection removes the PlacementDecisions that are selected, up to the first that may not be.
func (r *REST) DeleteCollection(ctx context.Context, deleteValidation rest.ValidateObjectFunc, options *metav1.DeleteOptions, listOptions *metainternalversion.ListOptions) (runtime.Object, error) {
	return r.Store.DeleteCollection(ctx, r.Guard.deletion(deleteValidation), options, listOptions)
}
