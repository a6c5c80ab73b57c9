// Package rollout serves rollouts: the stored kind, the subresources that move it, and the PlacementDecisions that it publishes. What a
// verb does is decided by the planner (pkg/rollout); this package finds the targets, swaps the status and writes the slices.
//
// It may import apimachinery, apiserver, client-go's recorder of events, etcd's client, pkg/apis, pkg/clusterstatus, pkg/rollout and
// pkg/registry only.
package rollout
