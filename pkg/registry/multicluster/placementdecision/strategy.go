package placementdecision

import (
	"context"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/registry/store"
)

// strategy is the rules of PlacementDecisions, which have neither spec nor status: all that is not metadata is the decision.
type strategy struct{ store.Strategy }

// PrepareForCreate starts to count changes.
func (strategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	obj.(*multicluster.PlacementDecision).Generation = 1
}

// PrepareForUpdate counts changes of everything but the metadata.
func (strategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	decision, oldDecision := obj.(*multicluster.PlacementDecision), old.(*multicluster.PlacementDecision)
	if decision.SchedulerName != oldDecision.SchedulerName || !apiequality.Semantic.DeepEqual(decision.Decisions, oldDecision.Decisions) {
		decision.Generation = oldDecision.Generation + 1
	}
}

// attributes returns what selectors of a PlacementDecision may name.
func attributes(obj runtime.Object) (labels.Set, fields.Set, error) {
	decision, ok := obj.(*multicluster.PlacementDecision)
	if !ok {
		return nil, nil, fmt.Errorf("%T is no PlacementDecision", obj)
	}
	own := fields.Set{multicluster.SelectorSchedulerName: decision.SchedulerName}
	return decision.Labels, generic.AddObjectMetaFieldsSet(own, &decision.ObjectMeta, true), nil
}
