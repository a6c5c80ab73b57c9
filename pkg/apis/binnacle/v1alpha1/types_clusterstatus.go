package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterPhase sums up what is known of a cluster, for people and for field selectors.
// +enum
type ClusterPhase string

const (
	// ClusterReady is a cluster that reports and says that it works.
	ClusterReady ClusterPhase = "Ready"
	// ClusterNotReady is a cluster that reports and says that it does not work.
	ClusterNotReady ClusterPhase = "NotReady"
	// ClusterUnreachable is a cluster that reported before and has been silent for longer than the grace period.
	ClusterUnreachable ClusterPhase = "Unreachable"
	// ClusterUnknown is a cluster that has never reported.
	ClusterUnknown ClusterPhase = "Unknown"
)

// Conditions of a ClusterStatus. Others are those of the report and of the ClusterProfile.
const (
	// ConditionReady says whether the cluster works: Unknown where nothing is known, or nothing is known any more.
	ConditionReady = "Ready"
	// ConditionReachable says whether the cluster reports.
	ConditionReachable = "Reachable"
	// ConditionControlPlaneHealthy says whether the API server of the cluster answers, as the cluster reports it.
	ConditionControlPlaneHealthy = "ControlPlaneHealthy"
	// ConditionHubSuspect is on the clusters that went silent together with so many others that the hub, or the way to it, is
	// the more likely cause.
	ConditionHubSuspect = "HubSuspect"
)

// Reasons of the conditions Ready, Reachable and HubSuspect.
const (
	// ReasonReporting says that reports arrive.
	ReasonReporting = "Reporting"
	// ReasonNeverReported says that there has been no report since the cluster was registered.
	ReasonNeverReported = "NeverReported"
	// ReasonReportsStopped says that the last report is older than the grace period.
	ReasonReportsStopped = "ReportsStopped"
	// ReasonMassSilence says that many clusters went silent at once.
	ReasonMassSilence = "MassSilence"
)

// Sources of a property.
const (
	// SourceClusterProfile is a property that the ClusterProfile holds.
	SourceClusterProfile = "ClusterProfile"
	// SourceReport is a property that the cluster reported.
	SourceReport = "Report"
)

// +genclient
// +genclient:onlyVerbs=get,list,watch
// +genclient:method=Report,verb=create,subresource=report,input=ClusterReport,result=ClusterReport
// +genclient:method=GetReport,verb=get,subresource=report,result=ClusterReport
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ClusterStatus is what is known of one cluster of the inventory right now. There is one for each ClusterProfile, with its name,
// namespace and labels. It is computed, from the profile, from what the cluster reported and from the PlacementDecisions that name
// it, and cannot be written; a cluster reports through the subresource report.
type ClusterStatus struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata: name, namespace, labels and time of creation are those of the ClusterProfile; the
	// uid is derived from the profile's.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// status is what is known of the cluster.
	// +optional
	Status ClusterStatusStatus `json:"status,omitempty" protobuf:"bytes,2,opt,name=status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ClusterStatusList is a list of ClusterStatus.
type ClusterStatusList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata: the resourceVersion of the list, and where a page ends.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items are the objects of the list.
	Items []ClusterStatus `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// ClusterStatusStatus is what is known of a cluster.
type ClusterStatusStatus struct {
	// phase sums up the conditions: Ready, NotReady, Unreachable (it reported before and is silent now) or Unknown (it never
	// reported).
	// +optional
	Phase ClusterPhase `json:"phase,omitempty" protobuf:"bytes,1,opt,name=phase,casttype=ClusterPhase"`

	// conditions of the cluster, one of a type: Ready, Reachable, ControlPlaneHealthy and, after many clusters went silent at once,
	// HubSuspect; then those of the report, then those of the ClusterProfile. lastTransitionTime is by the clock of the server.
	// +listType=map
	// +listMapKey=type
	// +optional
	// +k8s:optional
	Conditions []metav1.Condition `json:"conditions,omitempty" protobuf:"bytes,2,rep,name=conditions"`

	// lastReportTime is when the last report arrived, by the clock of the server, cut down to a coarse grain (5 minutes unless the
	// server is set otherwise), since every change of this object is an event for everyone who watches. The subresource report
	// has the exact time.
	// +optional
	LastReportTime *metav1.Time `json:"lastReportTime,omitempty" protobuf:"bytes,3,opt,name=lastReportTime"`

	// reportIntervalSeconds is after how many seconds the cluster was asked to report again.
	// +optional
	ReportIntervalSeconds int32 `json:"reportIntervalSeconds,omitempty" protobuf:"varint,4,opt,name=reportIntervalSeconds"`

	// clockSkewSeconds is by how much the clock of the cluster is ahead of the server's, negative where it is behind. It is left
	// out below 30 seconds.
	// +optional
	ClockSkewSeconds int64 `json:"clockSkewSeconds,omitempty" protobuf:"varint,5,opt,name=clockSkewSeconds"`

	// kubernetesVersion is what the cluster runs: as it reports or, before its first report, as its ClusterProfile says.
	// +optional
	KubernetesVersion string `json:"kubernetesVersion,omitempty" protobuf:"bytes,6,opt,name=kubernetesVersion"`

	// nodes are how many nodes the cluster has.
	// +optional
	// +k8s:optional
	Nodes *NodeCounts `json:"nodes,omitempty" protobuf:"bytes,7,opt,name=nodes"`

	// resources are the sums over the nodes of the cluster.
	// +optional
	Resources *ClusterResources `json:"resources,omitempty" protobuf:"bytes,8,opt,name=resources"`

	// properties are facts about the cluster, one of a name: those of the report, and those of the ClusterProfile that the report
	// does not have.
	// +listType=map
	// +listMapKey=name
	// +optional
	Properties []SourcedProperty `json:"properties,omitempty" protobuf:"bytes,9,rep,name=properties"`

	// placements are the decisions that name the cluster.
	// +optional
	Placements PlacementSummary `json:"placements,omitempty,omitzero" protobuf:"bytes,10,opt,name=placements"`

	// clusterManager is the cluster manager of the ClusterProfile.
	// +optional
	ClusterManager string `json:"clusterManager,omitempty" protobuf:"bytes,11,opt,name=clusterManager"`
}

// NodeCounts are how many nodes a cluster has.
type NodeCounts struct {
	// total is the number of nodes.
	// +optional
	// +k8s:optional
	// +k8s:minimum=0
	// +k8s:validation:minimum=0
	Total int32 `json:"total" protobuf:"varint,1,opt,name=total"`
	// ready is the number of nodes whose condition Ready is True.
	// +optional
	// +k8s:optional
	// +k8s:minimum=0
	// +k8s:validation:minimum=0
	Ready int32 `json:"ready" protobuf:"varint,2,opt,name=ready"`
}

// ClusterResources are sums over the nodes of a cluster. An extended resource such as nvidia.com/gpu is a name like any other.
type ClusterResources struct {
	// capacity is what the nodes have.
	// +optional
	// +k8s:opaqueType
	Capacity corev1.ResourceList `json:"capacity,omitempty" protobuf:"bytes,1,rep,name=capacity,casttype=k8s.io/api/core/v1.ResourceList,castkey=k8s.io/api/core/v1.ResourceName"`
	// allocatable is what pods can have of it.
	// +optional
	// +k8s:opaqueType
	Allocatable corev1.ResourceList `json:"allocatable,omitempty" protobuf:"bytes,2,rep,name=allocatable,casttype=k8s.io/api/core/v1.ResourceList,castkey=k8s.io/api/core/v1.ResourceName"`
	// available is what no pod has asked for: allocatable less the requests of the pods that run.
	// +optional
	// +k8s:opaqueType
	Available corev1.ResourceList `json:"available,omitempty" protobuf:"bytes,3,rep,name=available,casttype=k8s.io/api/core/v1.ResourceList,castkey=k8s.io/api/core/v1.ResourceName"`
}

// SourcedProperty is a fact about a cluster, with who says so and since when.
type SourcedProperty struct {
	// name of the property, as the About API (KEP-2149) and ClusterProfile have it.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// value of the property.
	Value string `json:"value" protobuf:"bytes,2,opt,name=value"`
	// source is ClusterProfile or Report.
	// +optional
	Source string `json:"source,omitempty" protobuf:"bytes,3,opt,name=source"`
	// time is since when the property has this value: when it was first reported, or when the ClusterProfile says that it was
	// observed.
	// +optional
	Time *metav1.Time `json:"time,omitempty" protobuf:"bytes,4,opt,name=time"`
}

// PlacementSummary says which decisions name a cluster.
type PlacementSummary struct {
	// count is how many decisions name the cluster. The slices of one decision count once.
	// +optional
	Count int32 `json:"count,omitempty" protobuf:"varint,1,opt,name=count"`
	// keys are the first 20 of the decisions in alphabetical order, as namespace/decision-key, or namespace/name of a
	// PlacementDecision without that label.
	// +listType=set
	// +optional
	Keys []string `json:"keys,omitempty" protobuf:"bytes,2,rep,name=keys"`
}
