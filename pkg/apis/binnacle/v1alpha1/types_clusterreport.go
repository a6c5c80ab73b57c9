package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Its metadata is no embedded ObjectMeta, so that the library keeps no owners of fields for an object that nobody stores, which is a
// fifth of what a report costs.

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +k8s:isSubresource="/report"

// ClusterReport is what a cluster says of itself, posted to the subresource report of its ClusterStatus. It is at most 64 KiB. The
// answer has a status only, which says when to report next; a GET of the subresource has the newest report.
type ClusterReport struct {
	metav1.TypeMeta `json:",inline"`
	// metadata may be left out. A name or namespace in it must be that of the ClusterStatus.
	// +optional
	Metadata metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is what the cluster says.
	// +optional
	Spec ClusterReportSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is what the server says: it is ignored in a request.
	// +optional
	Status ClusterReportStatus `json:"status,omitempty,omitzero" protobuf:"bytes,3,opt,name=status"`
}

// ClusterReportSpec is what a cluster says of itself. A report is whole: what it leaves out is not known any more.
type ClusterReportSpec struct {
	// clusterProfileUID is the uid of the ClusterProfile that the report is for. A report for another one, registered under the
	// same name before or after, is refused with 409.
	// +optional
	ClusterProfileUID *types.UID `json:"clusterProfileUID,omitempty" protobuf:"bytes,1,opt,name=clusterProfileUID,casttype=k8s.io/apimachinery/pkg/types.UID"`

	// time is what the clock of the cluster showed. It is only compared with the server's; nothing else depends on it.
	// +optional
	Time *metav1.Time `json:"time,omitempty" protobuf:"bytes,2,opt,name=time"`

	// intervalSeconds is after how many seconds the cluster would like to report again, 1 to 3600. The server's own wish counts
	// where it is left out.
	// +optional
	// +k8s:optional
	// +k8s:minimum=1
	// +k8s:validation:minimum=1
	// +k8s:maximum=3600
	// +k8s:validation:maximum=3600
	IntervalSeconds *int32 `json:"intervalSeconds,omitempty" protobuf:"varint,3,opt,name=intervalSeconds"`

	// kubernetesVersion is the gitVersion of the cluster's API server, such as v1.37.2.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=253
	// +k8s:validation:maxLength=253
	KubernetesVersion string `json:"kubernetesVersion,omitempty" protobuf:"bytes,4,opt,name=kubernetesVersion"`

	// nodes are how many nodes the cluster has.
	// +optional
	// +k8s:optional
	// +k8s:customValidation
	Nodes *NodeCounts `json:"nodes,omitempty" protobuf:"bytes,5,opt,name=nodes"`

	// resources are the sums over the nodes of the cluster, at most 256 names in each list.
	// +optional
	Resources *ClusterResources `json:"resources,omitempty" protobuf:"bytes,6,opt,name=resources"`

	// properties are facts about the cluster, at most 256, one of a name.
	// +listType=map
	// +listMapKey=name
	// +optional
	// +k8s:optional
	// +k8s:listType=map
	// +k8s:listMapKey=name
	// +k8s:maxItems=256
	// +k8s:validation:maxItems=256
	Properties []ReportedProperty `json:"properties,omitempty" protobuf:"bytes,7,rep,name=properties"`

	// conditions of the cluster, at most 32, one of a type. ControlPlaneHealthy says whether the API server answers; Ready, where
	// it is given, decides over the phase. Reachable and HubSuspect are the server's own.
	// +listType=map
	// +listMapKey=type
	// +optional
	// +k8s:optional
	// +k8s:listType=map
	// +k8s:listMapKey=type
	// +k8s:maxItems=32
	// +k8s:validation:maxItems=32
	Conditions []ReportedCondition `json:"conditions,omitempty" protobuf:"bytes,8,rep,name=conditions"`
}

// ReportedProperty is a fact about a cluster.
type ReportedProperty struct {
	// name of the property, at most 253 characters.
	// +required
	// +k8s:required
	// +k8s:maxLength=253
	// +k8s:validation:maxLength=253
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// value of the property, at most 1024 characters. It may be empty.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=1024
	// +k8s:validation:maxLength=1024
	Value string `json:"value" protobuf:"bytes,2,opt,name=value"`
}

// ReportedCondition is a condition of a cluster. The server adds since when it holds.
type ReportedCondition struct {
	// type of the condition, such as ControlPlaneHealthy.
	// +required
	// +k8s:required
	// +k8s:maxLength=316
	// +k8s:validation:maxLength=316
	// +k8s:customValidation
	Type string `json:"type" protobuf:"bytes,1,opt,name=type"`
	// status is True, False or Unknown.
	// +required
	// +k8s:required
	// +k8s:customValidation
	Status metav1.ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status,casttype=k8s.io/apimachinery/pkg/apis/meta/v1.ConditionStatus"`
	// reason is why, in one word of CamelCase, at most 1024 characters.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=1024
	// +k8s:validation:maxLength=1024
	// +k8s:customValidation
	Reason string `json:"reason,omitempty" protobuf:"bytes,3,opt,name=reason"`
	// message is why, for people, at most 4096 characters.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=4096
	// +k8s:validation:maxLength=4096
	Message string `json:"message,omitempty" protobuf:"bytes,4,opt,name=message"`
}

// ClusterReportStatus is what the server says of a report.
type ClusterReportStatus struct {
	// receivedTime is when the report arrived, by the clock of the server.
	// +optional
	ReceivedTime *metav1.MicroTime `json:"receivedTime,omitempty" protobuf:"bytes,1,opt,name=receivedTime"`
	// nextReportSeconds is in how many seconds the cluster is asked to report again. It differs a little from answer to answer, so
	// that clusters that began together spread out, and grows while the server has more reports than it can take.
	// +optional
	NextReportSeconds int32 `json:"nextReportSeconds,omitempty" protobuf:"varint,2,opt,name=nextReportSeconds"`
	// clockSkewSeconds is by how much the clock of the cluster was ahead of the server's, negative where it was behind.
	// +optional
	ClockSkewSeconds *int64 `json:"clockSkewSeconds,omitempty" protobuf:"varint,3,opt,name=clockSkewSeconds"`
}
