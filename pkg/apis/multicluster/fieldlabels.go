package multicluster

import "fmt"

// Field selectors beside metadata.name and metadata.namespace.
const (
	// SelectorClusterManagerName selects ClusterProfiles by their cluster manager.
	SelectorClusterManagerName = "spec.clusterManager.name"
	// SelectorSchedulerName selects PlacementDecisions by their scheduler.
	SelectorSchedulerName = "schedulerName"
)

// FieldLabelConversion returns the function that accepts the field selectors of a kind in a served version: those of every object, and
// one of the kind's own. Any other is an error, which is answered as 400.
func FieldLabelConversion(selectable string) func(label, value string) (string, string, error) {
	return func(label, value string) (string, string, error) {
		switch label {
		case "metadata.name", "metadata.namespace", selectable:
			return label, value, nil
		}
		return "", "", fmt.Errorf("field label not supported: %s; supported are metadata.name, metadata.namespace and %s", label, selectable)
	}
}
