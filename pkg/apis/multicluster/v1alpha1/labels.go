package v1alpha1

// Labels that upstream defines.
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
)

// ClusterConditionControlPlaneHealthy is the condition that says whether the control plane of the cluster works.
const ClusterConditionControlPlaneHealthy = "ControlPlaneHealthy"
