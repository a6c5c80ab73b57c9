package kubectl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// group is clusters that share a fate.
type group struct {
	name     string
	clusters []v1alpha1.ClusterReference
}

// listed is a line for each group that has clusters, with as many names as 80 columns hold.
func listed(namespace string, groups ...group) []string {
	var lines []string
	for _, g := range groups {
		if len(g.clusters) > 0 {
			label := fmt.Sprintf("  %-8s ", g.name+":")
			lines = append(lines, label+firstNames(namespace, g.clusters, defaultWidth-len(label)))
		}
	}
	return lines
}

// firstNames names clusters as far as a width allows, the first of them always, and counts the rest.
func firstNames(namespace string, clusters []v1alpha1.ClusterReference, width int) string {
	text := ""
	for i, ref := range clusters {
		name := nameOf(namespace, ref)
		if i > 0 {
			name = ", " + name
		}
		rest := ""
		if left := len(clusters) - i - 1; left > 0 {
			rest = fmt.Sprintf(" and %d more", left)
		}
		if i > 0 && len(text)+len(name)+len(rest) > width {
			return fmt.Sprintf("%s and %d more", text, len(clusters)-i)
		}
		text += name
	}
	return text
}

// nameOf is the name of a cluster, with the namespace where that is not the rollout's.
func nameOf(namespace string, ref v1alpha1.ClusterReference) string {
	if ref.Namespace == "" || ref.Namespace == namespace {
		return ref.Name
	}
	return ref.Namespace + "/" + ref.Name
}

// inState are the clusters of a rollout in a state, in their order, with the reason of the state.
func inState(rollout *v1alpha1.Rollout, state v1alpha1.RolloutClusterState) []v1alpha1.ClusterReference {
	var refs []v1alpha1.ClusterReference
	for i := range rollout.Status.Clusters {
		c := &rollout.Status.Clusters[i]
		if c.State != state {
			continue
		}
		ref := v1alpha1.ClusterReference{Name: c.Name, Namespace: c.Namespace}
		if c.Reason != "" {
			ref.Name += " (" + c.Reason + ")"
		}
		refs = append(refs, ref)
	}
	return refs
}

// stepNames are the names of a rollout's steps.
func stepNames(rollout *v1alpha1.Rollout) []string {
	var names []string
	for i := range rollout.Spec.Steps {
		names = append(names, rollout.Spec.Steps[i].Name)
	}
	return names
}

// stepName is the name of the current step, empty before the first.
func stepName(rollout *v1alpha1.Rollout) string {
	if rollout.Status.Step == nil {
		return ""
	}
	return rollout.Status.Step.Name
}

// stepNumber is the current step counted from 1, by its name, since the spec may have changed; 0 where there is none.
func stepNumber(rollout *v1alpha1.Rollout) int {
	return slices.Index(stepNames(rollout), stepName(rollout)) + 1
}

// phaseOf reads the phase, which a Rollout that nothing has moved yet has not.
func phaseOf(rollout *v1alpha1.Rollout) v1alpha1.RolloutPhase {
	if rollout.Status.Phase == "" {
		return v1alpha1.RolloutPending
	}
	return rollout.Status.Phase
}

// isFinished says whether the rollout stays as it is until somebody starts it anew.
func isFinished(rollout *v1alpha1.Rollout) bool {
	return slices.Contains([]v1alpha1.RolloutPhase{v1alpha1.RolloutCompleted, v1alpha1.RolloutAborted, v1alpha1.RolloutRolledBack}, phaseOf(rollout))
}

// bar draws how much of a whole is done.
func bar(done, whole, width int) string {
	filled := 0
	if whole > 0 {
		filled = min(width, width*done/whole)
	}
	return "[" + strings.Repeat("#", filled) + strings.Repeat("-", width-filled) + "]"
}
