package binnacle

import (
	"fmt"
	"slices"
	"strings"
)

// Field selectors of ClusterStatus beside metadata.name and metadata.namespace.
const (
	// SelectorPhase selects by status.phase.
	SelectorPhase = "status.phase"
	// SelectorKubernetesVersion selects by status.kubernetesVersion.
	SelectorKubernetesVersion = "status.kubernetesVersion"
	// SelectorClusterManager selects by the cluster manager of the ClusterProfile, which the status repeats.
	SelectorClusterManager = "status.clusterManager"
	// selectorOfProfiles is the selector that ClusterProfile has for its cluster manager. It is accepted here too.
	selectorOfProfiles = "spec.clusterManager.name"
)

var clusterStatusSelectors = []string{"metadata.name", "metadata.namespace", SelectorPhase, SelectorKubernetesVersion, SelectorClusterManager}

// ClusterStatusFieldLabel accepts the field selectors of ClusterStatus. Any other is an error, which is answered as 400.
func ClusterStatusFieldLabel(label, value string) (string, string, error) {
	if label == selectorOfProfiles {
		label = SelectorClusterManager
	}
	if slices.Contains(clusterStatusSelectors, label) {
		return label, value, nil
	}
	return "", "", fmt.Errorf("field label not supported: %s; supported are %s", label, strings.Join(append(clusterStatusSelectors, selectorOfProfiles), ", "))
}

// SelectorDecisionKey selects Rollouts by spec.output.decisionKey. They have SelectorPhase too.
const SelectorDecisionKey = "spec.output.decisionKey"

var rolloutSelectors = []string{"metadata.name", "metadata.namespace", SelectorPhase, SelectorDecisionKey}

// RolloutFieldLabel accepts the field selectors of Rollout. Any other is an error, which is answered as 400.
func RolloutFieldLabel(label, value string) (string, string, error) {
	if slices.Contains(rolloutSelectors, label) {
		return label, value, nil
	}
	return "", "", fmt.Errorf("field label not supported: %s; supported are %s", label, strings.Join(rolloutSelectors, ", "))
}
