package kubectl

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// describe is a rollout in about ten lines, none wider than width.
func describe(rollout *v1alpha1.Rollout, now time.Time, width int) string {
	status, counts := &rollout.Status, &rollout.Status.Counts
	var lines []string
	add := func(label, text string) {
		if text != "" {
			lines = append(lines, shorten(fmt.Sprintf("%-11s%s", label+":", text), width))
		}
	}
	add("Rollout", rollout.Namespace+"/"+rollout.Name)
	add("Decision", fmt.Sprintf("%s, revision %d, %d %s", rollout.Spec.Output.DecisionKey, status.Revision, counts.Slices,
		numbered(counts.Slices, "slice", "slices")))
	add("Progress", progress(counts, width))
	add("Step", stepText(rollout, now))
	add("Phase", phaseText(rollout))
	add("Waits for", waitText(rollout, now))
	add("Clusters", countsText(counts))
	for _, state := range []v1alpha1.RolloutClusterState{v1alpha1.ClusterFailed, v1alpha1.ClusterHeld} {
		if refs := inState(rollout, state); len(refs) > 0 {
			add(string(state), firstNames(rollout.Namespace, refs, min(width, 2*defaultWidth)-11))
		}
	}
	if len(status.LeftOut) > 0 {
		add("Left out", fmt.Sprintf("%s joined and %s for the next run", plural(int(counts.LeftOut)), numbered(counts.LeftOut, "waits", "wait")))
	}
	return strings.Join(lines, "\n")
}

func numbered(n int32, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func progress(counts *v1alpha1.RolloutCounts, width int) string {
	if counts.Targets == 0 {
		return ""
	}
	// The line is 40 wide beside the bar.
	return fmt.Sprintf("%s %3d%%  %d/%d clusters", bar(int(counts.In), int(counts.Targets), max(10, min(40, width-40))),
		min(100, 100*int(counts.In)/int(counts.Targets)), counts.In, counts.Targets)
}

func stepText(rollout *v1alpha1.Rollout, now time.Time) string {
	step := rollout.Status.Step
	if step == nil {
		return fmt.Sprintf("none yet of %d", len(rollout.Spec.Steps))
	}
	return fmt.Sprintf("%s (%d of %d), %d planned, for %s", step.Name, stepNumber(rollout), len(rollout.Spec.Steps), step.Planned,
		duration.HumanDuration(max(0, now.Sub(step.StartTime.Time))))
}

// phaseText is the phase with why it is held up.
func phaseText(rollout *v1alpha1.Rollout) string {
	text := string(phaseOf(rollout))
	for _, kind := range []string{v1alpha1.ConditionStopped, v1alpha1.ConditionPaused, v1alpha1.ConditionBlocked, v1alpha1.ConditionHeld} {
		c := meta.FindStatusCondition(rollout.Status.Conditions, kind)
		if c == nil || c.Status != metav1.ConditionTrue || kind == v1alpha1.ConditionHeld && c.Reason != v1alpha1.ReasonMassSilence {
			continue
		}
		said := c.Message
		if said == "" || kind == v1alpha1.ConditionStopped || kind == v1alpha1.ConditionBlocked {
			said = strings.TrimSuffix(c.Reason+": "+c.Message, ": ")
		}
		return text + " (" + said + ")"
	}
	return text
}

func countsText(c *v1alpha1.RolloutCounts) string {
	parts := []string{}
	for _, part := range []struct {
		n    int32
		name string
	}{{c.Pending, "pending"}, {c.Held, "held"}, {c.Succeeded, "succeeded"}, {c.Failed, "failed"}, {c.Skipped, "skipped"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.name))
		}
	}
	return strings.Join(parts, ", ")
}

// stamp is a time as text: in UTC, to the second.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
