package rollout

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/registry/multicluster/placementdecision"
)

// collect does for the slices of a Rollout that is gone or going what the hub's garbage collector does where there is a hub: it deletes
// them, or leaves them without an owner where the Rollout was deleted that way. On a hub it does nothing.
func (m *Mover) collect(ctx context.Context, namespace, name string) error {
	if !m.collects {
		return nil
	}
	rollout, err := m.get(request.WithNamespace(ctx, namespace), name)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	orphan := err == nil && slices.Contains(rollout.Finalizers, metav1.FinalizerOrphanDependents)
	kept := types.UID("")
	if err == nil && !orphan && !slices.Contains(rollout.Finalizers, metav1.FinalizerDeleteDependents) {
		kept = rollout.UID // It lives, or waits for somebody else's finalizer.
	}
	inDecisions := ofDecisions(ctx, namespace)
	list, err := m.decisions.List(inDecisions, &metainternalversion.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.(*multicluster.PlacementDecisionList).Items {
		slice := &list.(*multicluster.PlacementDecisionList).Items[i]
		owner := placementdecision.OwnerOf(slice)
		if owner == nil || owner.Name != name || owner.UID == kept {
			continue
		}
		if orphan && owner.UID == rollout.UID {
			freed := slice.DeepCopy()
			freed.OwnerReferences = slices.DeleteFunc(freed.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == owner.UID })
			_, _, err = m.decisions.Update(inDecisions, slice.Name, rest.DefaultUpdatedObjectInfo(freed), rest.ValidateAllObjectFunc,
				rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
		} else {
			err = m.remove(inDecisions, slice)
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	if rollout == nil || kept != "" {
		return nil
	}
	return m.letGo(ctx, rollout)
}

// letGo takes the finalizers of the garbage collector from a Rollout whose slices are seen to.
func (m *Mover) letGo(ctx context.Context, rollout *binnacle.Rollout) error {
	ctx = request.WithRequestInfo(request.WithNamespace(ctx, rollout.Namespace), &request.RequestInfo{
		IsResourceRequest: true, APIGroup: binnacle.GroupName, APIVersion: v1alpha1.SchemeGroupVersion.Version, Namespace: rollout.Namespace, Resource: "rollouts",
	})
	free := rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		freed := old.(*binnacle.Rollout).DeepCopy()
		freed.Finalizers = slices.DeleteFunc(freed.Finalizers, func(f string) bool {
			return f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents
		})
		return freed, nil
	})
	_, _, err := m.rollouts.Update(ctx, rollout.Name, free, rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
