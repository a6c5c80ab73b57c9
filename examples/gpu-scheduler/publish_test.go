package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	clienttesting "k8s.io/client-go/testing"

	binnacle "github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned/fake"
)

func named(from, to int) []string {
	var names []string
	for i := from; i < to; i++ {
		names = append(names, fmt.Sprintf("c%03d", i))
	}
	return names
}

// TestPublish goes from choice to choice and is killed after each number of writes. The next process finishes; whoever stays is never missing.
func TestPublish(t *testing.T) {
	o := options{key: "gpus", namespace: "fleet", inventory: "fleet"}
	for survive := range 7 {
		client := fake.NewClientset()
		decisions := client.MulticlusterV1alpha2().PlacementDecisions("fleet")
		left := 1000
		client.PrependReactor("*", "placementdecisions", func(action clienttesting.Action) (bool, runtime.Object, error) {
			if action.GetVerb() == "list" {
				return false, nil, nil
			}
			left--
			return left < 0, nil, errors.New("killed")
		})
		before := sets.New[string]()
		for round, picked := range [][]string{named(0, 250), named(40, 330), named(300, 310), {}, named(0, 3)} {
			left = survive
			for attempt := range 2 {
				stored, err := read(context.Background(), decisions, o.key)
				if err == nil {
					err = publish(context.Background(), decisions, stored, o, picked)
				}
				if attempt > 0 && err != nil {
					t.Fatal(err)
				}
				now, _ := read(context.Background(), decisions, o.key)
				if missing := before.Intersection(sets.New(picked...)).Difference(members(now)); len(missing) > 0 {
					t.Fatalf("round %d, after %d writes: %v are missing", round, survive, sets.List(missing))
				}
				left = 1000
			}
			stored, err := read(context.Background(), decisions, o.key)
			if err != nil || !members(stored).Equal(sets.New(picked...)) {
				t.Fatalf("round %d, after %d writes: %d are in, want %d (%v)", round, survive, len(members(stored)), len(picked), err)
			}
			for i, s := range stored {
				if s.Annotations[binnacle.AnnotationDecisionSlices] != fmt.Sprint(len(stored)) || s.Labels[binnacle.LabelDecisionRevision] != fmt.Sprint(newest(stored)) || s.Name != nameOf("gpus", i) {
					t.Errorf("round %d: slice %d is %+v", round, i, s.ObjectMeta)
				}
			}
			before = sets.New(picked...)
			client.ClearActions()
			if err := publish(context.Background(), decisions, stored, o, picked); err != nil || len(client.Actions()) > 0 {
				t.Errorf("round %d: the same again is written: %v, %v", round, client.Actions(), err)
			}
		}
	}
}

// TestReadRefuses wants a scheduler to leave a decision alone that is not its own.
func TestReadRefuses(t *testing.T) {
	for _, change := range []func(name, index, scheduler *string){
		func(_, _, scheduler *string) { *scheduler = "other" }, func(_, index, _ *string) { *index = "01" },
		func(_, index, _ *string) { *index = "999999999" }, func(name, _, _ *string) { *name = "other-0" },
	} {
		s := options{key: "gpus"}.slice(0, nil, 1, 1)
		index := "0"
		change(&s.Name, &index, &s.SchedulerName)
		s.Namespace, s.Labels["multicluster.x-k8s.io/decision-index"] = "fleet", index
		decisions := fake.NewClientset(s).MulticlusterV1alpha2().PlacementDecisions("fleet")
		if _, err := read(context.Background(), decisions, "gpus"); err == nil || !strings.Contains(err.Error(), "somebody else") {
			t.Errorf("%s with index %s of %s: %v", s.Name, index, s.SchedulerName, err)
		}
	}
}
