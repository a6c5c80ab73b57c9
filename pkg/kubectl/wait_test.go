package kubectl

import (
	"strings"
	"testing"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// TestGoals checks each goal against rollouts that are there, on the way, and beyond reach.
func TestGoals(t *testing.T) {
	const there, onTheWay = 0, -1
	complete, aborted := newRollout(ended(v1alpha1.RolloutCompleted)), newRollout(ended(v1alpha1.RolloutAborted))
	tests := []struct {
		goal    string
		rollout *v1alpha1.Rollout
		want    int // or the exit code
	}{
		{"complete", newRollout(), onTheWay},
		{"complete", complete, there},
		{"complete", aborted, ExitStopped},
		{"complete", newRollout(troubled), ExitStopped},
		{"complete", newRollout(ended(v1alpha1.RolloutRolledBack)), ExitStopped},
		{"complete", newRollout(paused), onTheWay},
		{"step", newRollout(notStarted), onTheWay},
		{"step", newRollout(), onTheWay},
		{"step", newRollout(soaked), there},
		{"step", newRollout(soaked, automatic), there},
		{"step", newRollout(soaked, approvals(2)), onTheWay},
		{"step", newRollout(paused), onTheWay},
		{"step", newRollout(troubled), ExitStopped},
		{"step", complete, there},
		{"step", aborted, ExitStopped},
		{"step=p25", newRollout(), there},
		{"step=p10", newRollout(), there},
		{"step=p75", newRollout(), onTheWay},
		{"step=p10", newRollout(notStarted), onTheWay},
		{"step=p10", aborted, ExitStopped},
		{"step=p33", newRollout(), ExitError},
		{"phase=Paused", newRollout(paused), there},
		{"phase=Paused", newRollout(), onTheWay},
		{"phase=Paused", complete, ExitStopped},
		{"phase=Aborted", aborted, there},
		{"phase=Stopped", newRollout(troubled), there},
		{"phase=Pending", newRollout(notStarted), there},
	}
	for _, test := range tests {
		g, err := parseGoal(test.goal)
		if err != nil {
			t.Fatal(err)
		}
		done, err := g.check(test.rollout, noon)
		got := exitCode(err)
		if err == nil && !done {
			got = onTheWay
		}
		if got != test.want {
			t.Errorf("%s of a rollout that is %s: %d (%v), want %d", test.goal, phaseOf(test.rollout), got, err, test.want)
		}
	}
}

func TestParseGoal(t *testing.T) {
	for text, want := range map[string]string{"phase=Done": "no phase", "phase": "no phase", "complete=yes": "not", "step=": "not", "ready": "not", "": "not"} {
		if _, err := parseGoal(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
