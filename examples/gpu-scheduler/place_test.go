package main

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha2"
)

// stored are slices as they would be read.
func storedSlices(placed ...[]string) []v1alpha2.PlacementDecision {
	var all []v1alpha2.PlacementDecision
	for i, names := range placed {
		all = append(all, *options{key: "gpus"}.slice(i, names, 1, len(placed)))
	}
	return all
}

func TestPlace(t *testing.T) {
	for name, test := range map[string]struct {
		stored [][]string
		picked []string
		want   string
	}{
		"nothing yet":           {nil, nil, "[[]]"},
		"the first":             {nil, []string{"b", "a"}, "[[a b]]"},
		"all leave":             {[][]string{{"a"}, {"b"}}, nil, "[[]]"},
		"who stays, stays":      {[][]string{{"a", "z"}, {"b"}}, []string{"b", "z", "c"}, "[[c z] [b]]"},
		"the last slice goes":   {[][]string{{"a"}, {"b"}}, []string{"a"}, "[[a]]"},
		"a gap in the middle":   {[][]string{{"a"}, nil, {"b"}}, []string{"a", "b"}, "[[a] [] [b]]"},
		"named twice is once":   {[][]string{{"a"}, {"a", "b"}}, []string{"a", "b"}, "[[a] [b]]"},
		"one that is no longer": {[][]string{{"a", "b"}}, []string{"b"}, "[[b]]"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := fmt.Sprint(place(storedSlices(test.stored...), test.picked)); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// TestPlaceOfMany goes from one choice among 500 clusters to another: nobody who stays moves, nobody is lost, and no slice is too long.
func TestPlaceOfMany(t *testing.T) {
	seed := rand.Int63()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewSource(seed))
	var placed [][]string
	for range 50 {
		picked := sets.New[string]()
		for i := range 500 {
			if random.Intn(3) > 0 {
				picked.Insert(fmt.Sprint("c", i))
			}
		}
		before := storedSlices(placed...)
		placed = place(before, sets.List(picked))
		found := sets.New[string]()
		for i, names := range placed {
			if len(names) > perSlice || !slices.IsSorted(names) {
				t.Fatalf("slice %d: %v", i, names)
			}
			found.Insert(names...)
		}
		if !found.Equal(picked) {
			t.Fatalf("%d clusters, want %d", len(found), len(picked))
		}
		for i := range before {
			for _, name := range namesOf(&before[i]) {
				if picked.Has(name) && !slices.Contains(placed[i], name) {
					t.Fatalf("%s moved away from slice %d", name, i)
				}
			}
		}
	}
}
