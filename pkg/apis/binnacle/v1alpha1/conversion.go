package v1alpha1

import (
	"k8s.io/apimachinery/pkg/conversion"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// Convert_v1alpha1_ClusterReport_To_binnacle_ClusterReport keeps the metadata where the internal type has it.
func Convert_v1alpha1_ClusterReport_To_binnacle_ClusterReport(in *ClusterReport, out *binnacle.ClusterReport, s conversion.Scope) error {
	out.Metadata = in.ObjectMeta
	return autoConvert_v1alpha1_ClusterReport_To_binnacle_ClusterReport(in, out, s)
}

// Convert_binnacle_ClusterReport_To_v1alpha1_ClusterReport is the way back.
func Convert_binnacle_ClusterReport_To_v1alpha1_ClusterReport(in *binnacle.ClusterReport, out *ClusterReport, s conversion.Scope) error {
	out.ObjectMeta = in.Metadata
	return autoConvert_binnacle_ClusterReport_To_v1alpha1_ClusterReport(in, out, s)
}
