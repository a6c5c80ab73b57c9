package rollout

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/operation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/dryrun"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/validation"
	"github.com/binnacle-dev/binnacle/pkg/registry/store"
)

// FeedbackREST serves rollouts/feedback.
type FeedbackREST struct {
	store.Strategy
	mover *Mover
}

var (
	_ rest.NamedCreater = &FeedbackREST{}
	_ rest.Scoper       = &FeedbackREST{}
)

// New returns an empty RolloutFeedback.
func (*FeedbackREST) New() runtime.Object { return &binnacle.RolloutFeedback{} }

// Destroy does nothing.
func (*FeedbackREST) Destroy() {}

// Create notes the outcome of a cluster.
func (r *FeedbackREST) Create(ctx context.Context, name string, obj runtime.Object, createValidation rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	feedback, ok := obj.(*binnacle.RolloutFeedback)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not a RolloutFeedback: %T", obj))
	}
	if err := store.NameBody(ctx, name, &feedback.Metadata); err != nil {
		return nil, err
	}
	feedback.Status = binnacle.RolloutActionStatus{}
	errs := append(validation.ValidateRolloutFeedback(feedback),
		r.ValidateDeclaratively(ctx, feedback, nil, nil, operation.Create, rest.DeclarativeValidationConfig{})...)
	if len(errs) > 0 {
		return nil, apierrors.NewInvalid(binnacle.Kind("RolloutFeedback"), name, errs)
	}
	known, err := r.mover.recent(ctx, name)
	if err != nil {
		return nil, err
	}
	if createValidation != nil {
		asked := feedback.DeepCopy()
		asked.Metadata, asked.Status = parent(known), statusOf(known)
		if err := createValidation(ctx, asked); err != nil {
			return nil, err
		}
	}
	rollout := about{types.NamespacedName{Namespace: known.Namespace, Name: name}, feedback.Metadata.UID}
	after, err := r.mover.report(ctx, rollout, feedback.Spec, dryrun.IsDryRun(options.DryRun))
	if err != nil {
		return nil, err
	}
	return &binnacle.RolloutFeedback{Metadata: metav1.ObjectMeta{Name: name, Namespace: after.Namespace}, Spec: feedback.Spec, Status: statusOf(after)}, nil
}

// recent is a Rollout as the cache has it: outcomes come in numbers, and to read a large Rollout from etcd for each is too much. One that
// the cache does not know is looked for in etcd.
func (m *Mover) recent(ctx context.Context, name string) (*binnacle.Rollout, error) {
	object, err := m.rollouts.Get(ctx, name, &metav1.GetOptions{ResourceVersion: "0"})
	if err != nil {
		return m.get(ctx, name)
	}
	return object.(*binnacle.Rollout), nil
}
