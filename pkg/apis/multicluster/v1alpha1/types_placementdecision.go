package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +genclient:noStatus
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// PlacementDecision is one slice of the clusters that a scheduler chose (KEP-5313). A decision of more than 100 clusters has several
// slices, tied together by the label multicluster.x-k8s.io/decision-key and ordered by multicluster.x-k8s.io/decision-index.
// +k8s:customValidation
type PlacementDecision struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// decisions are the chosen clusters of this slice in the order of the scheduler, at most 100. None is a decision too: it is the
	// empty list, and never left out.
	// +listType=atomic
	// +required
	// +k8s:optional
	// +k8s:maxItems=100
	// +k8s:validation:maxItems=100
	// +k8s:listType=atomic
	Decisions ClusterDecisions `json:"decisions" protobuf:"bytes,2,opt,name=decisions"`

	// schedulerName is who made the decision.
	// +optional
	// +k8s:optional
	SchedulerName string `json:"schedulerName,omitempty" protobuf:"bytes,3,opt,name=schedulerName"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// PlacementDecisionList is a list of PlacementDecision.
type PlacementDecisionList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata: the resourceVersion of the list, and where a page ends.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items are the objects of the list.
	Items []PlacementDecision `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// ClusterDecisions are the clusters of one slice. It is a type of its own so that protobuf, too, tells the empty list from one that
// was left out.
// +protobuf.nullable=true
// +protobuf.options.(gogoproto.goproto_stringer)=false
type ClusterDecisions []ClusterDecision

// ClusterDecision is one chosen cluster.
type ClusterDecision struct {
	// clusterProfileRef names the chosen cluster.
	// +required
	ClusterProfileRef ClusterProfileReference `json:"clusterProfileRef" protobuf:"bytes,1,opt,name=clusterProfileRef"`

	// reason tells people why the cluster was chosen.
	// +optional
	// +k8s:optional
	Reason string `json:"reason,omitempty" protobuf:"bytes,2,opt,name=reason"`
}

// ClusterProfileReference names a ClusterProfile.
type ClusterProfileReference struct {
	// name of the ClusterProfile.
	// +required
	// +k8s:required
	Name *string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`

	// namespace of the ClusterProfile; that of the PlacementDecision where it is empty.
	// +optional
	// +k8s:optional
	Namespace *string `json:"namespace,omitempty" protobuf:"bytes,2,opt,name=namespace"`
}
