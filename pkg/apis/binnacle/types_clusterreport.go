package binnacle

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ClusterReport is what a cluster says of itself, posted to the subresource report of its ClusterStatus. It is at most 64 KiB. The
// answer has a status only, which says when to report next; a GET of the subresource has the newest report.
type ClusterReport struct {
	metav1.TypeMeta
	// metadata may be left out. A name or namespace in it must be that of the ClusterStatus.
	Metadata metav1.ObjectMeta

	// spec is what the cluster says.
	Spec ClusterReportSpec

	// status is what the server says: it is ignored in a request.
	Status ClusterReportStatus
}

// ClusterReportSpec is what a cluster says of itself. A report is whole: what it leaves out is not known any more.
type ClusterReportSpec struct {
	// clusterProfileUID is the uid of the ClusterProfile that the report is for. A report for another one, registered under the
	// same name before or after, is refused with 409.
	ClusterProfileUID *types.UID

	// time is what the clock of the cluster showed. It is only compared with the server's; nothing else depends on it.
	Time *metav1.Time

	// intervalSeconds is after how many seconds the cluster would like to report again, 1 to 3600. The server's own wish counts
	// where it is left out.
	IntervalSeconds *int32

	// kubernetesVersion is the gitVersion of the cluster's API server, such as v1.37.2.
	KubernetesVersion string

	// nodes are how many nodes the cluster has.
	Nodes *NodeCounts

	// resources are the sums over the nodes of the cluster, at most 256 names in each list.
	Resources *ClusterResources

	// properties are facts about the cluster, at most 256, one of a name.
	Properties []ReportedProperty

	// conditions of the cluster, at most 32, one of a type. ControlPlaneHealthy says whether the API server answers; Ready, where
	// it is given, decides over the phase. Reachable and HubSuspect are the server's own.
	Conditions []ReportedCondition
}

// ReportedProperty is a fact about a cluster.
type ReportedProperty struct {
	// name of the property, at most 253 characters.
	Name string
	// value of the property, at most 1024 characters. It may be empty.
	Value string
}

// ReportedCondition is a condition of a cluster. The server adds since when it holds.
type ReportedCondition struct {
	// type of the condition, such as ControlPlaneHealthy.
	Type string
	// status is True, False or Unknown.
	Status metav1.ConditionStatus
	// reason is why, in one word of CamelCase, at most 1024 characters.
	Reason string
	// message is why, for people, at most 4096 characters.
	Message string
}

// ClusterReportStatus is what the server says of a report.
type ClusterReportStatus struct {
	// receivedTime is when the report arrived, by the clock of the server.
	ReceivedTime *metav1.MicroTime
	// nextReportSeconds is in how many seconds the cluster is asked to report again. It differs a little from answer to answer, so
	// that clusters that began together spread out, and grows while the server has more reports than it can take.
	NextReportSeconds int32
	// clockSkewSeconds is by how much the clock of the cluster was ahead of the server's, negative where it was behind.
	ClockSkewSeconds *int64
}
