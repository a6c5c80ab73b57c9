package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	binnacle "github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha2"
	multicluster "github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned/typed/multicluster/v1alpha2"
)

const (
	scheduler = "gpu-scheduler.example.com"
	// perSlice is how many clusters a slice may have (KEP-5313).
	perSlice  = 100
	maxSlices = 1000
)

// read returns the slices of a decision by their index; one that is missing has no name. It asks the server and not a cache: what is written
// next depends on it.
func read(ctx context.Context, decisions multicluster.PlacementDecisionInterface, key string) ([]v1alpha2.PlacementDecision, error) {
	list, err := decisions.List(ctx, metav1.ListOptions{LabelSelector: v1alpha2.DecisionKeyLabel + "=" + key})
	if err != nil {
		return nil, err
	}
	var stored []v1alpha2.PlacementDecision
	for _, s := range list.Items {
		index, err := strconv.Atoi(s.Labels[v1alpha2.DecisionIndexLabel])
		if err != nil || index < 0 || index >= maxSlices || s.Name != nameOf(key, index) || s.SchedulerName != scheduler {
			return nil, fmt.Errorf("slice %s with index %q is of scheduler %q: somebody else writes this decision", s.Name, s.Labels[v1alpha2.DecisionIndexLabel], s.SchedulerName)
		}
		for len(stored) <= index {
			stored = append(stored, v1alpha2.PlacementDecision{})
		}
		stored[index] = s
	}
	return stored, nil
}

func nameOf(key string, index int) string { return fmt.Sprintf("%s-%d", key, index) }

// publish writes what differs, if anything does: new slices first, then those that grow, then those that lose somebody; superfluous ones are
// deleted at the end. All carry one new revision and their number, by which consumers know a whole decision from half of one.
func publish(ctx context.Context, decisions multicluster.PlacementDecisionInterface, stored []v1alpha2.PlacementDecision, o options, picked []string) error {
	placed := place(stored, picked)
	next, settled := newest(stored)+1, len(placed) == len(stored)
	var create, grow, shrink []*v1alpha2.PlacementDecision
	for i, names := range placed {
		if i >= len(stored) || stored[i].Name == "" {
			settled = false
			create = append(create, o.slice(i, names, next, len(placed)))
			continue
		}
		had, s := namesOf(&stored[i]), o.slice(i, names, next, len(placed))
		s.ResourceVersion = stored[i].ResourceVersion // Two schedulers of one decision do not overwrite each other.
		// Half of a change that an earlier process left is finished here.
		settled = settled && slices.Equal(had, names) && stored[i].Labels[binnacle.LabelDecisionRevision] == strconv.Itoa(next-1) &&
			stored[i].Annotations[binnacle.AnnotationDecisionSlices] == strconv.Itoa(len(placed))
		if sets.New(names...).HasAll(had...) {
			grow = append(grow, s)
		} else {
			shrink = append(shrink, s)
		}
	}
	if settled {
		return nil
	}
	for _, s := range create {
		if _, err := decisions.Create(ctx, s, metav1.CreateOptions{FieldManager: scheduler}); err != nil {
			return err
		}
	}
	for _, s := range append(grow, shrink...) {
		if _, err := decisions.Update(ctx, s, metav1.UpdateOptions{FieldManager: scheduler}); err != nil {
			return err
		}
	}
	for i := len(placed); i < len(stored); i++ {
		if stored[i].Name == "" {
			continue
		}
		if err := decisions.Delete(ctx, stored[i].Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(stored[i].UID))}); err != nil {
			return err
		}
	}
	klog.InfoS("Decided", "revision", next, "clusters", len(picked), "slices", len(placed))
	return nil
}

// slice is one slice as it is to be.
func (o options) slice(index int, names []string, revision, count int) *v1alpha2.PlacementDecision {
	s := &v1alpha2.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
		Name: nameOf(o.key, index),
		Labels: map[string]string{v1alpha2.DecisionKeyLabel: o.key, v1alpha2.DecisionIndexLabel: strconv.Itoa(index),
			binnacle.LabelDecisionRevision: strconv.Itoa(revision)},
		Annotations: map[string]string{binnacle.AnnotationDecisionSlices: strconv.Itoa(count)},
	}, Decisions: v1alpha2.ClusterDecisions{}, SchedulerName: scheduler}
	for _, name := range names {
		ref := v1alpha2.ClusterProfileReference{Name: &name}
		if o.inventory != o.namespace {
			ref.Namespace = &o.inventory
		}
		s.Decisions = append(s.Decisions, v1alpha2.ClusterDecision{ClusterProfileRef: ref, Reason: fmt.Sprintf("enough %s is free", o.resource)})
	}
	return s
}
