package multicluster

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Labels and condition types that upstream defines.
const (
	// LabelClusterManagerKey on a ClusterProfile holds the name of its cluster manager (KEP-4322, Cluster Manager).
	LabelClusterManagerKey = "x-k8s.io/cluster-manager"
	// LabelInventoryMemberIDKey on a ClusterProfile tells which member cluster it stands for within its namespace.
	LabelInventoryMemberIDKey = "multicluster.x-k8s.io/inventory-member-id"
	// LabelClusterSetKey on a namespace holds the ClusterSet that its profiles belong to.
	LabelClusterSetKey = "multicluster.x-k8s.io/clusterset"
	// DecisionKeyLabel is the same on every slice of one decision (KEP-5313, Slicing).
	DecisionKeyLabel = "multicluster.x-k8s.io/decision-key"
	// DecisionIndexLabel is the position of a slice in its decision, from 0.
	DecisionIndexLabel = "multicluster.x-k8s.io/decision-index"
	// PlacementKeyLabel ties a decision to the workload that it was made for.
	PlacementKeyLabel = "multicluster.x-k8s.io/placement-key"

	// ClusterConditionControlPlaneHealthy says whether the control plane of the cluster works.
	ClusterConditionControlPlaneHealthy = "ControlPlaneHealthy"
	// ClusterConditionJoined says whether the cluster is under its manager (KEP-4322, Conditions).
	ClusterConditionJoined = "Joined"
)

// MaxDecisionsPerSlice is how many clusters one PlacementDecision holds at most (KEP-5313, Slicing).
const MaxDecisionsPerSlice = 100

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ClusterProfile is one cluster of the inventory.
type ClusterProfile struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	Spec   ClusterProfileSpec
	Status ClusterProfileStatus

	// Malformed is set while a request is served whose body did not fit the schema; such an object is never stored.
	// +k8s:conversion-gen=false
	Malformed *Malformed
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ClusterProfileList is a list of ClusterProfile.
type ClusterProfileList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []ClusterProfile
}

// ClusterProfileSpec is what the owner of the profile says about the cluster.
type ClusterProfileSpec struct {
	DisplayName    string
	ClusterManager ClusterManager
}

// ClusterManager names the system that owns the profile. It never changes.
type ClusterManager struct {
	Name *string
}

// ClusterProfileStatus is what the cluster manager observed of the cluster.
type ClusterProfileStatus struct {
	Conditions          []metav1.Condition
	Version             ClusterVersion
	Properties          []Property
	CredentialProviders []AccessProvider
	AccessProviders     []AccessProvider
}

// ClusterVersion is what the cluster runs.
type ClusterVersion struct {
	Kubernetes string
}

// Property is one named fact about the cluster.
type Property struct {
	Name             string
	Value            string
	LastObservedTime *Timestamp
}

// Timestamp is an RFC 3339 date and time, kept as it was written.
type Timestamp string

// AccessProvider is one way to connect to the cluster.
type AccessProvider struct {
	Name    *string
	Cluster *Cluster
}

// Cluster tells how to reach the API server of the cluster.
type Cluster struct {
	Server                   *string
	TLSServerName            string
	InsecureSkipTLSVerify    bool
	CertificateAuthority     string
	CertificateAuthorityData []byte
	ProxyURL                 string
	DisableCompression       bool
	Extensions               []NamedExtension
}

// NamedExtension is data of one access provider.
type NamedExtension struct {
	Name      *string
	Extension runtime.RawExtension
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// PlacementDecision is one slice of the clusters that a scheduler chose.
type PlacementDecision struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	// Decisions is nil only where the writer left it out, which validation refuses.
	Decisions     ClusterDecisions
	SchedulerName string

	// Malformed is set while a request is served whose body did not fit the schema; such an object is never stored.
	// +k8s:conversion-gen=false
	Malformed *Malformed
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// PlacementDecisionList is a list of PlacementDecision.
type PlacementDecisionList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []PlacementDecision
}

// ClusterDecisions is the clusters of one slice, in the order that the scheduler gave them.
type ClusterDecisions []ClusterDecision

// ClusterDecision is one chosen cluster.
type ClusterDecision struct {
	ClusterProfileRef ClusterProfileReference
	Reason            string
}

// ClusterProfileReference names a ClusterProfile.
type ClusterProfileReference struct {
	Name *string
	// Namespace is the PlacementDecision's own where nil or empty.
	Namespace *string
}
