package placementdecision

import (
	"fmt"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/registry/table"
)

type column = table.Column[*multicluster.PlacementDecision]

var tableConvertor = table.NewConvertor(
	column{Name: "Clusters", Type: "integer", Description: "Number of clusters in this slice.",
		Value: func(d *multicluster.PlacementDecision) any { return int64(len(d.Decisions)) }},
	column{Name: "Decision-Key", Description: "Decision that the slice belongs to.", Value: label(multicluster.DecisionKeyLabel)},
	column{Name: "Index", Description: "Position of the slice in its decision.", Value: label(multicluster.DecisionIndexLabel)},
	column{Name: "Scheduler", Description: "Scheduler that made the decision.",
		Value: func(d *multicluster.PlacementDecision) any { return d.SchedulerName }},
	column{Name: "Placement-Key", Wide: true, Description: "Workload that the decision was made for.", Value: label(multicluster.PlacementKeyLabel)},
	column{Name: "Cluster-Names", Wide: true, Description: "The first clusters of the slice.",
		Value: func(d *multicluster.PlacementDecision) any { return clusterNames(d) }},
)

func label(key string) func(*multicluster.PlacementDecision) any {
	return func(d *multicluster.PlacementDecision) any { return d.Labels[key] }
}

// shownClusters is how many names fit beside the other columns.
const shownClusters = 3

// clusterNames lists the first clusters: by name, and with the namespace where that is not the decision's own.
func clusterNames(decision *multicluster.PlacementDecision) string {
	var names []string
	for i := range min(len(decision.Decisions), shownClusters) {
		ref := decision.Decisions[i].ClusterProfileRef
		name := ptr.Deref(ref.Name, "")
		if namespace := ptr.Deref(ref.Namespace, ""); namespace != "" && namespace != decision.Namespace {
			name = namespace + "/" + name
		}
		names = append(names, name)
	}
	if more := len(decision.Decisions) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("+%d more", more))
	}
	return strings.Join(names, ",")
}
