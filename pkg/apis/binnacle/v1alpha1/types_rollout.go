package v1alpha1

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
// +enum
// +k8s:enum
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
// +enum
// +k8s:enum
type DisconnectedPolicy string

const (
	// DisconnectedHold passes over a cluster that does not report, and takes the next in the order.
	DisconnectedHold DisconnectedPolicy = "Hold"
	// DisconnectedInclude treats it as any other.
	DisconnectedInclude DisconnectedPolicy = "Include"
)

// Progression says who takes the steps after the first.
// +enum
// +k8s:enum
type Progression string

const (
	// ProgressionManual leaves every step to a person.
	ProgressionManual Progression = "Manual"
	// ProgressionAutomatic lets the server take a step as soon as its gate is open, unless the gate has a pause.
	ProgressionAutomatic Progression = "Automatic"
)

// +genclient
// +genclient:noStatus
// +genclient:method=Advance,verb=create,subresource=advance,input=RolloutAction,result=RolloutAction
// +genclient:method=Pause,verb=create,subresource=pause,input=RolloutAction,result=RolloutAction
// +genclient:method=Resume,verb=create,subresource=resume,input=RolloutAction,result=RolloutAction
// +genclient:method=Approve,verb=create,subresource=approve,input=RolloutAction,result=RolloutAction
// +genclient:method=Promote,verb=create,subresource=promote,input=RolloutAction,result=RolloutAction
// +genclient:method=Abort,verb=create,subresource=abort,input=RolloutAction,result=RolloutAction
// +genclient:method=Rollback,verb=create,subresource=rollback,input=RolloutAction,result=RolloutAction
// +genclient:method=Retry,verb=create,subresource=retry,input=RolloutAction,result=RolloutAction
// +genclient:method=Feedback,verb=create,subresource=feedback,input=RolloutFeedback,result=RolloutFeedback
// +genclient:method=Preview,verb=get,subresource=preview,result=RolloutPreview
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Rollout lets a set of clusters through in steps and publishes who is through as a decision: PlacementDecisions that it owns. Its
// subresources move it; nothing is let through before the first advance.
type Rollout struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is which clusters are let through, in which steps, and where the result is published.
	Spec RolloutSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`

	// status is how far the rollout is. Only the server writes it.
	// +optional
	Status RolloutStatus `json:"status,omitempty,omitzero" protobuf:"bytes,3,opt,name=status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// RolloutList is a list of Rollouts.
type RolloutList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata: the resourceVersion of the list, and where a page ends.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items are the objects of the list.
	Items []Rollout `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// RolloutSpec is what a rollout is to do. Once it was started, output cannot change any more. While a run goes on, targets, order and
// the steps up to the current one cannot change either; all else can, and counts from then on.
type RolloutSpec struct {
	// targets are the clusters to let through, at most 10,000. They are pinned when a run starts; drift says what follows.
	Targets RolloutTargets `json:"targets" protobuf:"bytes,1,opt,name=targets"`

	// output is the decision that the rollout publishes.
	Output RolloutOutput `json:"output" protobuf:"bytes,2,opt,name=output"`

	// steps are how many clusters, or which, are through after each, 1 to 50. Each must be able to add clusters to those before it. The
	// last is percent 100, so that nobody is forgotten. A step that then finds nobody to add is passed over with its gate, and once no
	// step finds anybody, neither a pause nor an approval is waited for.
	// +listType=map
	// +listMapKey=name
	// +required
	// +k8s:required
	// +k8s:listType=map
	// +k8s:listMapKey=name
	// +k8s:maxItems=50
	// +k8s:validation:maxItems=50
	Steps []RolloutStep `json:"steps" protobuf:"bytes,3,rep,name=steps"`

	// order is who goes first. Within it, and without it, a hash of the decision key and the cluster decides, so that other clusters
	// are first in each rollout.
	// +optional
	// +k8s:optional
	Order *RolloutOrder `json:"order,omitempty" protobuf:"bytes,4,opt,name=order"`

	// drift is what becomes of clusters that join or leave the targets after the start: Freeze (the default), Follow or AppendToLast.
	// A cluster whose ClusterProfile is deleted leaves in any case. Targets that are no cluster at all are not followed.
	// +optional
	// +default="Freeze"
	// +k8s:optional
	Drift DriftPolicy `json:"drift,omitempty" protobuf:"bytes,5,opt,name=drift,casttype=DriftPolicy"`

	// disconnected is what a step does with clusters that do not report any more: Hold (the default) or Include. A cluster that never
	// reported is treated as one that does, since nothing is known against it. A step takes others instead, as far as there are. A
	// cluster that is held is let in once it reports again: at once where the step has room for it or was the last, otherwise by a
	// later step. A step none of whose clusters reports is not taken, except the last.
	// +optional
	// +default="Hold"
	// +k8s:optional
	Disconnected DisconnectedPolicy `json:"disconnected,omitempty" protobuf:"bytes,6,opt,name=disconnected,casttype=DisconnectedPolicy"`

	// failureBudget is how many clusters may fail, none where it is left out. One more stops the rollout until retry, abort or
	// rollback.
	// +optional
	// +k8s:optional
	FailureBudget *RolloutBudget `json:"failureBudget,omitempty" protobuf:"bytes,7,opt,name=failureBudget"`

	// progression is who takes the steps after the first: Manual (the default) or Automatic. The first is always taken by a person.
	// +optional
	// +default="Manual"
	// +k8s:optional
	Progression Progression `json:"progression,omitempty" protobuf:"bytes,8,opt,name=progression,casttype=Progression"`

	// progressDeadline is how long the clusters of a step may take to be settled where its gate waits for success; later the rollout
	// stops. Time in which it is paused does not count. 1s to 8760h; without it nothing is ever late. Another one counts from the
	// next step on. It is refused where no gate waits for success.
	// +optional
	ProgressDeadline *metav1.Duration `json:"progressDeadline,omitempty" protobuf:"bytes,9,opt,name=progressDeadline"`
}

// RolloutTargets name the clusters of a rollout in exactly one of three ways.
type RolloutTargets struct {
	// decision takes the clusters that another producer chose.
	// +optional
	// +k8s:optional
	Decision *DecisionTarget `json:"decision,omitempty" protobuf:"bytes,1,opt,name=decision"`

	// selector takes clusters by their labels and by what is known of them.
	// +optional
	// +k8s:optional
	Selector *SelectorTarget `json:"selector,omitempty" protobuf:"bytes,2,opt,name=selector"`

	// clusters are the clusters themselves, at most 1,000, each once.
	// +listType=atomic
	// +optional
	// +k8s:optional
	// +k8s:maxItems=1000
	// +k8s:validation:maxItems=1000
	Clusters []ClusterReference `json:"clusters,omitempty" protobuf:"bytes,3,rep,name=clusters"`
}

// DecisionTarget is a decision of another producer, in the namespace of the Rollout.
type DecisionTarget struct {
	// key is the decision-key that the slices of the decision carry. It is not that of the output.
	// +required
	// +k8s:required
	// +k8s:format=k8s-label-value
	Key string `json:"key" protobuf:"bytes,1,opt,name=key"`
}

// SelectorTarget selects ClusterProfiles. One of labels and expression is needed: "true" takes all clusters of the namespaces.
type SelectorTarget struct {
	// namespaces are those of the ClusterProfiles, at most 64.
	// +listType=set
	// +required
	// +k8s:required
	// +k8s:listType=set
	// +k8s:maxItems=64
	// +k8s:validation:maxItems=64
	// +k8s:eachVal=+k8s:format=k8s-short-name
	Namespaces []string `json:"namespaces" protobuf:"bytes,1,rep,name=namespaces"`

	// labels select by the labels of the ClusterProfile. An empty selector is refused.
	// +optional
	Labels *metav1.LabelSelector `json:"labels,omitempty" protobuf:"bytes,2,opt,name=labels"`

	// expression is CEL over profile (the ClusterProfile) and status (of its ClusterStatus) that says whether the cluster is taken. Both
	// must hold where labels are given too. At most 4096 characters.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=4096
	// +k8s:validation:maxLength=4096
	Expression string `json:"expression,omitempty" protobuf:"bytes,3,opt,name=expression"`
}

// ClusterReference names a ClusterProfile.
type ClusterReference struct {
	// name of the ClusterProfile.
	// +required
	// +k8s:required
	// +k8s:format=k8s-long-name
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// namespace of the ClusterProfile: that of the Rollout where it is left out.
	// +optional
	// +k8s:optional
	// +k8s:format=k8s-short-name
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,2,opt,name=namespace"`
}

// RolloutOutput is the decision that a rollout publishes, as PlacementDecisions in its own namespace.
type RolloutOutput struct {
	// decisionKey is the decision-key that every slice carries. One unfinished rollout at a time may have it, and one at a time
	// publishes under it.
	// +required
	// +k8s:required
	// +k8s:format=k8s-label-value
	DecisionKey string `json:"decisionKey" protobuf:"bytes,1,opt,name=decisionKey"`

	// placementKey is the placement-key that every slice carries, none where it is left out.
	// +optional
	// +k8s:optional
	// +k8s:format=k8s-label-value
	PlacementKey string `json:"placementKey,omitempty" protobuf:"bytes,2,opt,name=placementKey"`

	// schedulerName is the scheduler that every slice names, binnacle.dev/rollout where it is left out. At most 253 characters.
	// +optional
	// +default="binnacle.dev/rollout"
	// +k8s:optional
	// +k8s:maxLength=253
	// +k8s:validation:maxLength=253
	SchedulerName string `json:"schedulerName,omitempty" protobuf:"bytes,3,opt,name=schedulerName"`

	// name is what the names of the slices begin with, before a dash and the index: the name of the Rollout where it is left out. At
	// most 240 characters.
	// +optional
	// +k8s:optional
	// +k8s:format=k8s-long-name
	// +k8s:maxLength=240
	// +k8s:validation:maxLength=240
	Name string `json:"name,omitempty" protobuf:"bytes,4,opt,name=name"`
}

// RolloutStep is who is through after a step: exactly one of percent, count and clusterSelector. Clusters that are through already
// count; they stay.
type RolloutStep struct {
	// name of the step, a DNS label.
	// +required
	// +k8s:required
	// +k8s:format=k8s-short-name
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`

	// percent of the pinned targets, 1 to 100, rounded up and at least one cluster.
	// +optional
	// +k8s:optional
	// +k8s:minimum=1
	// +k8s:validation:minimum=1
	// +k8s:maximum=100
	// +k8s:validation:maximum=100
	Percent *int32 `json:"percent,omitempty" protobuf:"varint,2,opt,name=percent"`

	// count of clusters, at least 1. More than there are means all.
	// +optional
	// +k8s:optional
	// +k8s:minimum=1
	// +k8s:validation:minimum=1
	Count *int32 `json:"count,omitempty" protobuf:"varint,3,opt,name=count"`

	// clusterSelector is a ring: the targets that it selects by the labels of their ClusterProfiles are added. It is not empty, and no
	// earlier ring selects all that it does.
	// +optional
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty" protobuf:"bytes,4,opt,name=clusterSelector"`

	// gate is what stands before the next step; after the last step, before the rollout is complete. All that it names must be
	// passed, in any order. Without it, the next step may be taken at once.
	// +optional
	// +k8s:optional
	Gate *RolloutGate `json:"gate,omitempty" protobuf:"bytes,5,opt,name=gate"`
}

// RolloutGate is what stands between two steps.
type RolloutGate struct {
	// pause leaves the next step to a person though progression is Automatic. The last step has none.
	// +optional
	Pause bool `json:"pause,omitempty" protobuf:"varint,1,opt,name=pause"`

	// success waits until every cluster that the run let in is settled: a consumer reported its success, or its failure within the
	// failure budget. No report is no success.
	// +optional
	Success bool `json:"success,omitempty" protobuf:"varint,2,opt,name=success"`

	// soak is how long to wait, from the start of the step or, with success, from when all were settled first. Time in which the
	// rollout is paused or stopped does not count. 1s to 8760h.
	// +optional
	Soak *metav1.Duration `json:"soak,omitempty" protobuf:"bytes,3,opt,name=soak"`

	// approval is how many people must approve, 1 to 20: each once, and never who started the run. The last step has none.
	// +optional
	// +k8s:optional
	// +k8s:minimum=1
	// +k8s:validation:minimum=1
	// +k8s:maximum=20
	// +k8s:validation:maximum=20
	Approval *int32 `json:"approval,omitempty" protobuf:"varint,4,opt,name=approval"`
}

// RolloutOrder is who goes first.
type RolloutOrder struct {
	// canaries go first, in this order, at most 100. Who is no target is passed over.
	// +listType=atomic
	// +optional
	// +k8s:optional
	// +k8s:maxItems=100
	// +k8s:validation:maxItems=100
	Canaries []ClusterReference `json:"canaries,omitempty" protobuf:"bytes,1,rep,name=canaries"`

	// label is the key of a label of the ClusterProfiles to sort by: whole numbers first, from the least, then other values by the
	// alphabet, then who has no such label.
	// +optional
	// +k8s:optional
	// +k8s:format=k8s-label-key
	Label string `json:"label,omitempty" protobuf:"bytes,2,opt,name=label"`
}

// RolloutBudget is how many clusters may fail: exactly one of count and percent.
type RolloutBudget struct {
	// count of clusters, at least 0.
	// +optional
	// +k8s:optional
	// +k8s:minimum=0
	// +k8s:validation:minimum=0
	Count *int32 `json:"count,omitempty" protobuf:"varint,1,opt,name=count"`

	// percent of the pinned targets, 0 to 100, rounded down.
	// +optional
	// +k8s:optional
	// +k8s:minimum=0
	// +k8s:validation:minimum=0
	// +k8s:maximum=100
	// +k8s:validation:maximum=100
	Percent *int32 `json:"percent,omitempty" protobuf:"varint,2,opt,name=percent"`
}
