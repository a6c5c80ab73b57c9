package binnacle

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What every slice of a Rollout's decision carries, beside the decision-key and the decision-index.
const (
	// LabelDecisionRevision is the revision that the slice belongs to. Consumers group by it, so that they take no half of a change for a
	// whole (KEP-5313 names it in its prose).
	LabelDecisionRevision = "multicluster.x-k8s.io/decision-revision"
	// AnnotationDecisionSlices is how many slices of that revision there are: who has found as many has found all.
	AnnotationDecisionSlices = "binnacle.dev/decision-slices"
)

// DriftPolicy says what becomes of clusters that join or leave the targets after the start.
type DriftPolicy string

const (
	// DriftFreeze keeps the targets as they were at the start. Who joins is listed in status.leftOut and waits for the next run.
	DriftFreeze DriftPolicy = "Freeze"
	// DriftFollow lets who joins take its place in the order, and lets who leaves go.
	DriftFollow DriftPolicy = "Follow"
	// DriftAppendToLast lets who joins in with the last step. Who leaves stays.
	DriftAppendToLast DriftPolicy = "AppendToLast"
)

// DisconnectedPolicy says what a step does with clusters that do not report any more.
type DisconnectedPolicy string

const (
	// DisconnectedHold passes over a cluster that does not report, and takes the next in the order.
	DisconnectedHold DisconnectedPolicy = "Hold"
	// DisconnectedInclude treats it as any other.
	DisconnectedInclude DisconnectedPolicy = "Include"
)

// Progression says who takes the steps after the first.
type Progression string

const (
	// ProgressionManual leaves every step to a person.
	ProgressionManual Progression = "Manual"
	// ProgressionAutomatic lets the server take a step as soon as its gate is open, unless the gate has a pause.
	ProgressionAutomatic Progression = "Automatic"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Rollout lets a set of clusters through in steps and publishes who is through as a decision: PlacementDecisions that it owns. Its
// subresources move it; nothing is let through before the first advance.
type Rollout struct {
	metav1.TypeMeta
	// metadata is the standard object metadata.
	metav1.ObjectMeta

	// spec is which clusters are let through, in which steps, and where the result is published.
	Spec RolloutSpec

	// status is how far the rollout is. Only the server writes it.
	Status RolloutStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// RolloutList is a list of Rollouts.
type RolloutList struct {
	metav1.TypeMeta
	// metadata is the standard list metadata: the resourceVersion of the list, and where a page ends.
	metav1.ListMeta

	// items are the objects of the list.
	Items []Rollout
}

// RolloutSpec is what a rollout is to do. Once it was started, output cannot change any more. While a run goes on, targets, order and
// the steps up to the current one cannot change either; all else can, and counts from then on.
type RolloutSpec struct {
	// targets are the clusters to let through, at most 10,000. They are pinned when a run starts; drift says what follows.
	Targets RolloutTargets

	// output is the decision that the rollout publishes.
	Output RolloutOutput

	// steps are how many clusters, or which, are through after each, 1 to 50. Each must be able to add clusters to those before it. The
	// last is percent 100, so that nobody is forgotten. A step that then finds nobody to add is passed over with its gate, and once no
	// step finds anybody, neither a pause nor an approval is waited for.
	Steps []RolloutStep

	// order is who goes first. Within it, and without it, a hash of the decision key and the cluster decides, so that other clusters
	// are first in each rollout.
	Order *RolloutOrder

	// drift is what becomes of clusters that join or leave the targets after the start: Freeze (the default), Follow or AppendToLast.
	// A cluster whose ClusterProfile is deleted leaves in any case. Targets that are no cluster at all are not followed.
	Drift DriftPolicy

	// disconnected is what a step does with clusters that do not report any more: Hold (the default) or Include. A cluster that never
	// reported is treated as one that does, since nothing is known against it. A step takes others instead, as far as there are. A
	// cluster that is held is let in once it reports again: at once where the step has room for it or was the last, otherwise by a
	// later step. A step none of whose clusters reports is not taken, except the last.
	Disconnected DisconnectedPolicy

	// failureBudget is how many clusters may fail, none where it is left out. One more stops the rollout until retry, abort or
	// rollback.
	FailureBudget *RolloutBudget

	// progression is who takes the steps after the first: Manual (the default) or Automatic. The first is always taken by a person.
	Progression Progression

	// progressDeadline is how long the clusters of a step may take to be settled where its gate waits for success; later the rollout
	// stops. Time in which it is paused does not count. 1s to 8760h; without it nothing is ever late. Another one counts from the
	// next step on. It is refused where no gate waits for success.
	ProgressDeadline *metav1.Duration
}

// RolloutTargets name the clusters of a rollout in exactly one of three ways.
type RolloutTargets struct {
	// decision takes the clusters that another producer chose.
	Decision *DecisionTarget

	// selector takes clusters by their labels and by what is known of them.
	Selector *SelectorTarget

	// clusters are the clusters themselves, at most 1,000, each once.
	Clusters []ClusterReference
}

// DecisionTarget is a decision of another producer, in the namespace of the Rollout.
type DecisionTarget struct {
	// key is the decision-key that the slices of the decision carry. It is not that of the output.
	Key string
}

// SelectorTarget selects ClusterProfiles. One of labels and expression is needed: "true" takes all clusters of the namespaces.
type SelectorTarget struct {
	// namespaces are those of the ClusterProfiles, at most 64.
	Namespaces []string

	// labels select by the labels of the ClusterProfile. An empty selector is refused.
	Labels *metav1.LabelSelector

	// expression is CEL over profile (the ClusterProfile) and status (of its ClusterStatus) that says whether the cluster is taken. Both
	// must hold where labels are given too. At most 4096 characters.
	Expression string
}

// ClusterReference names a ClusterProfile.
type ClusterReference struct {
	// name of the ClusterProfile.
	Name string
	// namespace of the ClusterProfile: that of the Rollout where it is left out.
	Namespace string
}

// RolloutOutput is the decision that a rollout publishes, as PlacementDecisions in its own namespace.
type RolloutOutput struct {
	// decisionKey is the decision-key that every slice carries. One unfinished rollout at a time may have it, and one at a time
	// publishes under it.
	DecisionKey string

	// placementKey is the placement-key that every slice carries, none where it is left out.
	PlacementKey string

	// schedulerName is the scheduler that every slice names, binnacle.dev/rollout where it is left out. At most 253 characters.
	SchedulerName string

	// name is what the names of the slices begin with, before a dash and the index: the name of the Rollout where it is left out. At
	// most 240 characters.
	Name string
}

// RolloutStep is who is through after a step: exactly one of percent, count and clusterSelector. Clusters that are through already
// count; they stay.
type RolloutStep struct {
	// name of the step, a DNS label.
	Name string

	// percent of the pinned targets, 1 to 100, rounded up and at least one cluster.
	Percent *int32

	// count of clusters, at least 1. More than there are means all.
	Count *int32

	// clusterSelector is a ring: the targets that it selects by the labels of their ClusterProfiles are added. It is not empty, and no
	// earlier ring selects all that it does.
	ClusterSelector *metav1.LabelSelector

	// gate is what stands before the next step; after the last step, before the rollout is complete. All that it names must be
	// passed, in any order. Without it, the next step may be taken at once.
	Gate *RolloutGate
}

// RolloutGate is what stands between two steps.
type RolloutGate struct {
	// pause leaves the next step to a person though progression is Automatic. The last step has none.
	Pause bool

	// success waits until every cluster that the run let in is settled: a consumer reported its success, or its failure within the
	// failure budget. No report is no success.
	Success bool

	// soak is how long to wait, from the start of the step or, with success, from when all were settled first. Time in which the
	// rollout is paused or stopped does not count. 1s to 8760h.
	Soak *metav1.Duration

	// approval is how many people must approve, 1 to 20: each once, and never who started the run. The last step has none.
	Approval *int32
}

// RolloutOrder is who goes first.
type RolloutOrder struct {
	// canaries go first, in this order, at most 100. Who is no target is passed over.
	Canaries []ClusterReference

	// label is the key of a label of the ClusterProfiles to sort by: whole numbers first, from the least, then other values by the
	// alphabet, then who has no such label.
	Label string
}

// RolloutBudget is how many clusters may fail: exactly one of count and percent.
type RolloutBudget struct {
	// count of clusters, at least 0.
	Count *int32

	// percent of the pinned targets, 0 to 100, rounded down.
	Percent *int32
}
