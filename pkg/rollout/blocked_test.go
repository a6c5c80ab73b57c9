package rollout_test

import (
	"fmt"
	"testing"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/rollout"
)

// TestBlockedIsSaidOnce has something be in the way of ticks whose message is another each time: what is stored changes with the reason, with
// the spec, and when nothing is in the way any more. Nobody comes in meanwhile.
func TestBlockedIsSaidOnce(t *testing.T) {
	w := newWorld(t, 4, percent(50), percent(100))
	w.rollout.Spec.Progression = binnacle.ProgressionAutomatic
	w.do(binnacle.VerbAdvance)
	said := 0
	tick := func(reason string, quiet bool) bool {
		in := w.input()
		if said++; reason != "" {
			in.Blocked = &rollout.Blocked{Reason: reason, Message: fmt.Sprint("c", said), Quiet: quiet}
		}
		result := rollout.Tick(in)
		w.store(result)
		return result.Changed
	}
	for _, test := range []struct {
		reason         string
		quiet, changes bool
		generation     int64
	}{
		{"Expression", true, false, 1}, {"Expression", false, true, 1}, {"Expression", false, false, 1}, {"NameTaken", false, true, 1},
		{"DecisionIncomplete", true, false, 1}, {"NameTaken", false, true, 2}, {"NameTaken", false, false, 2},
	} {
		w.rollout.Generation = test.generation
		if changed := tick(test.reason, test.quiet); changed != test.changes {
			t.Errorf("%+v: changed %v, %+v", test, changed, w.rollout.Status.Conditions)
		}
		w.is(binnacle.RolloutProgressing, "p50", 2, binnacle.WaitStep)
	}
	if !tick("", false) || w.condition(binnacle.ConditionBlocked).Status != "False" || len(w.in()) != 4 {
		t.Errorf("once nothing is in the way: %+v", w.rollout.Status)
	}
}
