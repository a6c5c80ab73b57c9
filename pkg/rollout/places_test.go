package rollout_test

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/rollout"
)

// perSlice is how many clusters each slice has.
func (w *world) perSlice() []int {
	filled := make([]int, w.rollout.Status.Counts.Slices)
	for i := range w.rollout.Status.Clusters {
		if c := &w.rollout.Status.Clusters[i]; rollout.IsThrough(c) {
			filled[c.Slice]++
		}
	}
	return filled
}

// TestPlaces fills the last slice, then what is free in the others from the lowest, and only then begins another.
func TestPlaces(t *testing.T) {
	w := newWorld(t, 0, percent(100))
	w.rollout.Spec.Drift = binnacle.DriftFollow
	for i := range 250 {
		w.add(fmt.Sprintf("c-%03d", i))
	}
	w.do(binnacle.VerbAdvance)
	leave := func(slice int32, n int) {
		for i := range w.rollout.Status.Clusters {
			if c := &w.rollout.Status.Clusters[i]; n > 0 && rollout.IsThrough(c) && c.Slice == slice {
				w.remove(c.Name)
				n--
			}
		}
		w.tick()
	}
	joined := 0
	join := func(n int) {
		for range n {
			joined++
			w.add(fmt.Sprint("joined-", joined))
		}
		w.tick()
	}
	for _, test := range []struct {
		what string
		do   func()
		want []int
	}{
		{"the start", func() {}, []int{100, 100, 50}},
		{"holes", func() { leave(1, 10); leave(0, 20) }, []int{80, 90, 50}},
		{"the last is filled", func() { join(49) }, []int{80, 90, 99}},
		{"then the lowest", func() { join(11) }, []int{90, 90, 100}},
		{"then the next", func() { join(15) }, []int{100, 95, 100}},
		{"then another", func() { join(7) }, []int{100, 100, 100, 2}},
		{"the last goes", func() { leave(3, 2); leave(2, 1) }, []int{100, 100, 99}},
		{"one in the middle is empty", func() { leave(1, 100) }, []int{100, 0, 99}},
		{"and is filled", func() { join(3) }, []int{100, 2, 100}},
	} {
		test.do()
		if diff := cmp.Diff(test.want, w.perSlice()); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", test.what, diff)
		}
	}
}

// TestSlicesStayFew lets clusters come and go at random, by drift and by verbs. There are never more slices than the most clusters that ever
// were in at once need, and nobody moves.
func TestSlicesStayFew(t *testing.T) {
	seeds(t, 10, func(t *testing.T, random *rand.Rand) {
		w := newWorld(t, 0, percent(30), percent(100))
		w.rollout.Spec.Drift = binnacle.DriftFollow
		for i := range 350 {
			w.add(fmt.Sprint("c-", i))
		}
		w.do(binnacle.VerbAdvance)
		peak := len(w.in())
		for i := range 120 {
			before, what := w.rollout, "a tick"
			for range random.Intn(60) {
				target := &w.targets[random.Intn(len(w.targets))]
				target.Selected = random.Intn(3) > 0
			}
			if random.Intn(4) == 0 {
				verb := pick(random, binnacle.VerbAdvance, binnacle.VerbAbort, binnacle.VerbRetry, binnacle.VerbPromote)
				w.try(verb, rollout.Request{})
				what = string(verb)
				peak = max(peak, len(w.in()))
			}
			w.tick()
			w.stays(&before.Status, what)
			peak = max(peak, len(w.in()))
			if got, most := len(w.perSlice()), max(1, (peak+99)/100); got > most || slices.Max(append(w.perSlice(), 0)) > 100 {
				t.Fatalf("%d: %v after at most %d were in, want at most %d slices", i, w.perSlice(), peak, most)
			}
		}
	})
}
