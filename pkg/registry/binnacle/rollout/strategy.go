package rollout

import (
	"context"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/generic"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/validation"
	"github.com/binnacle-dev/binnacle/pkg/registry/store"
	planner "github.com/binnacle-dev/binnacle/pkg/rollout"
)

// strategy is the rules of Rollouts. The status is the server's: no client writes it, through any path.
type strategy struct {
	store.Strategy
	expression validation.ExpressionCheck
}

// PrepareForCreate gives a new Rollout the status of one that was not started.
func (strategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	rollout := obj.(*binnacle.Rollout)
	rollout.Generation = 1
	rollout.Status = planner.Initial(rollout.Generation)
}

// PrepareForUpdate keeps the status, and counts changes of the spec.
func (strategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	rollout, oldRollout := obj.(*binnacle.Rollout), old.(*binnacle.Rollout)
	rollout.Status = oldRollout.Status
	if apiequality.Semantic.DeepEqual(rollout.Spec, oldRollout.Spec) {
		return
	}
	rollout.Generation = oldRollout.Generation + 1
	if rollout.Status.Phase == binnacle.RolloutPending { // Nothing follows from the spec before the start.
		rollout.Status.ObservedGeneration = rollout.Generation
	}
}

// Validate checks a new Rollout, beside what is declared.
func (s strategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	return append(s.Strategy.Validate(ctx, obj), validation.ValidateRollout(obj.(*binnacle.Rollout), s.expression)...)
}

// ValidateUpdate checks a change.
func (s strategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	return append(s.Strategy.ValidateUpdate(ctx, obj, old),
		validation.ValidateRolloutUpdate(obj.(*binnacle.Rollout), old.(*binnacle.Rollout), s.expression)...)
}

// GetResetFields tells server-side apply that nobody who writes owns the status.
func (strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return map[fieldpath.APIVersion]*fieldpath.Set{
		fieldpath.APIVersion(v1alpha1.SchemeGroupVersion.String()): fieldpath.NewSet(fieldpath.MakePathOrDie("status")),
	}
}

// attributes returns what selectors of a Rollout may name.
func attributes(obj runtime.Object) (labels.Set, fields.Set, error) {
	rollout, ok := obj.(*binnacle.Rollout)
	if !ok {
		return nil, nil, fmt.Errorf("%T is no Rollout", obj)
	}
	own := fields.Set{
		binnacle.SelectorPhase:       string(rollout.Status.Phase),
		binnacle.SelectorDecisionKey: rollout.Spec.Output.DecisionKey,
	}
	return rollout.Labels, generic.AddObjectMetaFieldsSet(own, &rollout.ObjectMeta, true), nil
}
