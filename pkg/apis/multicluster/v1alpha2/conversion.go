package v1alpha2

import (
	"k8s.io/apimachinery/pkg/conversion"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
)

// Convert_multicluster_ClusterProfileStatus_To_v1alpha2_ClusterProfileStatus leaves credentialProviders out, which this version does
// not have. The registry keeps them where a client of this version writes (pkg/registry/multicluster/clusterprofile).
func Convert_multicluster_ClusterProfileStatus_To_v1alpha2_ClusterProfileStatus(in *multicluster.ClusterProfileStatus, out *ClusterProfileStatus, s conversion.Scope) error {
	return autoConvert_multicluster_ClusterProfileStatus_To_v1alpha2_ClusterProfileStatus(in, out, s)
}

// Convert_multicluster_Cluster_To_v1alpha2_Cluster leaves certificate-authority out, which this version does not have. The registry
// keeps it likewise.
func Convert_multicluster_Cluster_To_v1alpha2_Cluster(in *multicluster.Cluster, out *Cluster, s conversion.Scope) error {
	return autoConvert_multicluster_Cluster_To_v1alpha2_Cluster(in, out, s)
}
