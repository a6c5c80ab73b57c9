package clusterprofile

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/registry/table"
)

type column = table.Column[*multicluster.ClusterProfile]

// tableConvertor has the columns that upstream prints for v1alpha2, and with -o wide who the member is and how it is reached.
var tableConvertor = table.NewConvertor(
	column{Name: "Display Name", Description: "Name of the cluster for people.",
		Value: func(p *multicluster.ClusterProfile) any { return p.Spec.DisplayName }},
	column{Name: "Manager", Description: "Cluster manager that owns the profile.",
		Value: func(p *multicluster.ClusterProfile) any { return ptr.Deref(p.Spec.ClusterManager.Name, "") }},
	column{Name: "Version", Description: "Kubernetes version of the cluster.",
		Value: func(p *multicluster.ClusterProfile) any { return p.Status.Version.Kubernetes }},
	column{Name: "Healthy", Description: "Whether the control plane of the cluster works.",
		Value: func(p *multicluster.ClusterProfile) any {
			return condition(p, multicluster.ClusterConditionControlPlaneHealthy)
		}},
	column{Name: "Joined", Wide: true, Description: "Whether the cluster is under its manager.",
		Value: func(p *multicluster.ClusterProfile) any {
			return condition(p, multicluster.ClusterConditionJoined)
		}},
	column{Name: "Member", Wide: true, Description: "Member cluster that the profile stands for in its inventory.",
		Value: func(p *multicluster.ClusterProfile) any { return p.Labels[multicluster.LabelInventoryMemberIDKey] }},
	column{Name: "Properties", Type: "integer", Wide: true, Description: "Number of properties.",
		Value: func(p *multicluster.ClusterProfile) any { return int64(len(p.Status.Properties)) }},
	column{Name: "Access", Wide: true, Description: "Names of the access providers.",
		Value: func(p *multicluster.ClusterProfile) any { return providerNames(p) }},
)

// condition returns the status of a condition, empty where nobody has said anything of it.
func condition(profile *multicluster.ClusterProfile, conditionType string) string {
	if c := meta.FindStatusCondition(profile.Status.Conditions, conditionType); c != nil {
		return string(c.Status)
	}
	return ""
}

func providerNames(profile *multicluster.ClusterProfile) string {
	names := make([]string, 0, len(profile.Status.AccessProviders))
	for _, provider := range profile.Status.AccessProviders {
		names = append(names, ptr.Deref(provider.Name, ""))
	}
	return strings.Join(names, ",")
}
