package rollout

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	multiclusterv1alpha1 "github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/registry/multicluster/placementdecision"
	"github.com/binnacle-dev/binnacle/pkg/rollout/slices"
)

// projectRounds is how often a projection begins anew because another replica wrote in between.
const projectRounds = 10

// ofDecisions is a context for the server's own writes of PlacementDecisions.
func ofDecisions(ctx context.Context, namespace string) context.Context {
	return request.WithRequestInfo(request.WithNamespace(ctx, namespace), &request.RequestInfo{
		IsResourceRequest: true, APIGroup: multicluster.GroupName, APIVersion: multiclusterv1alpha1.SchemeGroupVersion.Version,
		Namespace: namespace, Resource: "placementdecisions",
	})
}

// project brings the stored slices of a Rollout to what its status says. The slices are listed before the status is read, so that a write
// which another replica has overtaken meanwhile conflicts; and after the last write the status is read again, so that the newest revision
// is what is published in the end, whoever was faster.
func (m *Mover) project(ctx context.Context, rollout *binnacle.Rollout) error {
	ctx = ofDecisions(ctx, rollout.Namespace)
	stored, _, err := m.slicesOf(ctx, rollout.UID)
	if err != nil || len(slices.Writes(rollout, stored)) == 0 {
		return err
	}
	var last error
	for range projectRounds {
		current, err := m.current(ctx, rollout)
		if current == nil || err != nil {
			return err
		}
		if last, err = m.write(ctx, slices.Writes(current, stored)); err != nil {
			return err
		}
		if last == nil {
			after, err := m.current(ctx, rollout)
			if after == nil || err != nil || after.Status.Revision == current.Status.Revision {
				return err
			}
		}
		if stored, _, err = m.slicesOf(ctx, rollout.UID); err != nil {
			return err
		}
	}
	return fmt.Errorf("others write the slices too: %w", last)
}

// current is a Rollout as it is stored now, nil once it is gone or going.
func (m *Mover) current(ctx context.Context, rollout *binnacle.Rollout) (*binnacle.Rollout, error) {
	current, err := m.get(ctx, rollout.Name)
	if apierrors.IsNotFound(err) || err == nil && (current.UID != rollout.UID || current.DeletionTimestamp != nil) {
		return nil, nil
	}
	return current, err
}

// slicesOf are the stored slices of a Rollout, and foreign all others in the namespace.
func (m *Mover) slicesOf(ctx context.Context, uid types.UID) (own, foreign []*multicluster.PlacementDecision, err error) {
	list, err := m.decisions.List(ctx, &metainternalversion.ListOptions{})
	if err != nil {
		return nil, nil, err
	}
	for i := range list.(*multicluster.PlacementDecisionList).Items {
		slice := &list.(*multicluster.PlacementDecisionList).Items[i]
		if owner := placementdecision.OwnerOf(slice); owner != nil && owner.UID == uid {
			own = append(own, slice)
		} else {
			foreign = append(foreign, slice)
		}
	}
	return own, foreign, nil
}

// write does writes in their order. lost is why they have to be computed anew: somebody else wrote in between.
func (m *Mover) write(ctx context.Context, writes []slices.Write) (lost, err error) {
	for _, w := range writes {
		name := w.Slice.Name
		switch w.Verb {
		case slices.Create:
			_, err = m.decisions.Create(ctx, w.Slice.DeepCopy(), rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
		case slices.Update:
			_, _, err = m.decisions.Update(ctx, name, rest.DefaultUpdatedObjectInfo(w.Slice), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc,
				false, &metav1.UpdateOptions{})
		case slices.Delete:
			err = m.remove(ctx, w.Slice)
		}
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
			return err, nil
		}
		if err != nil {
			return nil, fmt.Errorf("cannot %s the slice %s: %w", w.Verb, name, err)
		}
	}
	return nil, nil
}

// remove deletes a slice as it was read; one that was made a moment ago, and never read, by its name.
func (m *Mover) remove(ctx context.Context, slice *multicluster.PlacementDecision) error {
	options := &metav1.DeleteOptions{}
	if slice.UID != "" {
		options.Preconditions = &metav1.Preconditions{UID: &slice.UID, ResourceVersion: &slice.ResourceVersion}
	}
	_, _, err := m.decisions.Delete(ctx, slice.Name, rest.ValidateAllObjectFunc, options)
	return err
}

// isProjected says whether slices are all of a Rollout's, by what they say of themselves.
func isProjected(rollout *binnacle.Rollout, stored []*multicluster.PlacementDecision) bool {
	if int(rollout.Status.Counts.Slices) != len(stored) {
		return false
	}
	revision, count := fmt.Sprint(rollout.Status.Revision), fmt.Sprint(rollout.Status.Counts.Slices)
	for _, slice := range stored {
		if slice.Labels[binnacle.LabelDecisionRevision] != revision || slice.Annotations[binnacle.AnnotationDecisionSlices] != count {
			return false
		}
	}
	return true
}
