package rollout

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/operation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/dryrun"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/klog/v2"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/validation"
	"github.com/binnacle-dev/binnacle/pkg/registry/store"
	planner "github.com/binnacle-dev/binnacle/pkg/rollout"
)

// ActionREST serves the subresource of a verb that takes a RolloutAction.
type ActionREST struct {
	store.Strategy
	verb  binnacle.RolloutVerb
	mover *Mover
}

var (
	_ rest.NamedCreater = &ActionREST{}
	_ rest.Scoper       = &ActionREST{}
)

// New returns an empty RolloutAction.
func (*ActionREST) New() runtime.Object { return &binnacle.RolloutAction{} }

// Destroy does nothing.
func (*ActionREST) Destroy() {}

// Create moves the Rollout.
func (r *ActionREST) Create(ctx context.Context, name string, obj runtime.Object, createValidation rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	action, ok := obj.(*binnacle.RolloutAction)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not a RolloutAction: %T", obj))
	}
	if err := store.NameBody(ctx, name, &action.Metadata); err != nil {
		return nil, err
	}
	action.Status = binnacle.RolloutActionStatus{}
	errs := append(validation.ValidateRolloutAction(r.verb, action, request.NamespaceValue(ctx)),
		r.ValidateDeclaratively(ctx, action, nil, nil, operation.Create, rest.DeclarativeValidationConfig{})...)
	if len(errs) > 0 {
		return nil, apierrors.NewInvalid(binnacle.Kind("RolloutAction"), name, errs)
	}
	a := act{
		Mover: r.mover, dryRun: dryrun.IsDryRun(options.DryRun),
		request: planner.Request{Verb: r.verb, Actor: actor(ctx), RolloutActionSpec: action.Spec},
		uid:     action.Metadata.UID, version: action.Metadata.ResourceVersion,
		admit: func(existing *binnacle.Rollout) error {
			if createValidation == nil {
				return nil
			}
			asked := action.DeepCopy()
			asked.Metadata, asked.Status = parent(existing), statusOf(existing)
			return createValidation(ctx, asked)
		},
	}
	after, err := a.do(ctx, name)
	if err != nil {
		return nil, err
	}
	if !a.dryRun {
		r.mover.publish(ctx, after)
	}
	done := &binnacle.RolloutAction{Metadata: metav1.ObjectMeta{Name: name, Namespace: after.Namespace}, Spec: action.Spec, Status: statusOf(after)}
	done.Status.Repeated = a.result.Repeated
	return done, nil
}

// publish writes the slices before the answer. A client that goes away, or slices that cannot be written now, change nothing of what was
// decided: they are repaired later.
func (m *Mover) publish(ctx context.Context, rollout *binnacle.Rollout) {
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), projectPatience)
	defer cancel()
	if err := m.project(writing, rollout); err != nil {
		klog.FromContext(ctx).Error(err, "The slices of a rollout were not written and follow", "rollout", klog.KObj(rollout))
		warning.AddWarning(ctx, "", fmt.Sprintf("the rollout is at revision %d, and its PlacementDecisions follow: they could not be written now", rollout.Status.Revision))
	}
}

// parent is what policies see of the Rollout in the metadata of a body.
func parent(rollout *binnacle.Rollout) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: rollout.Name, Namespace: rollout.Namespace, UID: rollout.UID, Labels: rollout.Labels, Annotations: rollout.Annotations}
}

// statusOf is where a Rollout is.
func statusOf(rollout *binnacle.Rollout) binnacle.RolloutActionStatus {
	status := &rollout.Status
	return binnacle.RolloutActionStatus{
		Phase: status.Phase, Step: stepOf(status), Revision: status.Revision, WaitingFor: status.WaitingFor, Counts: status.Counts,
	}
}
