package clusterstatus

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/registry/table"
)

type column = table.Column[*binnacle.ClusterStatus]

var tableConvertor = table.NewConvertor(
	column{Name: "Phase", Description: "Ready, NotReady, Unreachable or Unknown.",
		Value: func(s *binnacle.ClusterStatus) any { return string(s.Status.Phase) }},
	column{Name: "Version", Description: "Kubernetes version of the cluster.",
		Value: func(s *binnacle.ClusterStatus) any { return s.Status.KubernetesVersion }},
	column{Name: "Nodes", Description: "Nodes that are ready, of all nodes.",
		Value: func(s *binnacle.ClusterStatus) any { return nodes(s) }},
	column{Name: "CPU", Description: "Processors that no pod has asked for, of those that pods can have.",
		Value: func(s *binnacle.ClusterStatus) any { return free(s, isResource(corev1.ResourceCPU), cores) }},
	column{Name: "Memory", Description: "Memory that no pod has asked for, of that which pods can have.",
		Value: func(s *binnacle.ClusterStatus) any { return free(s, isResource(corev1.ResourceMemory), gibibytes) }},
	column{Name: "GPU", Description: "GPUs that no pod has asked for, of those that pods can have.",
		Value: func(s *binnacle.ClusterStatus) any { return free(s, isGPU, cores) }},
	column{Name: "Placements", Type: "integer", Description: "Number of decisions that name the cluster.",
		Value: func(s *binnacle.ClusterStatus) any { return int64(s.Status.Placements.Count) }},
	column{Name: "Last-Report", Description: "How long ago the last report arrived, in coarse steps.",
		Value: func(s *binnacle.ClusterStatus) any { return lastReport(s) }},
	column{Name: "Manager", Wide: true, Description: "Cluster manager of the profile.",
		Value: func(s *binnacle.ClusterStatus) any { return s.Status.ClusterManager }},
	column{Name: "Reason", Wide: true, Description: "Reason of the condition Ready, or of HubSuspect where that is true.",
		Value: func(s *binnacle.ClusterStatus) any {
			if c := meta.FindStatusCondition(s.Status.Conditions, binnacle.ConditionHubSuspect); c != nil {
				return c.Reason
			}
			if c := meta.FindStatusCondition(s.Status.Conditions, binnacle.ConditionReady); c != nil {
				return c.Reason
			}
			return ""
		}},
	column{Name: "Interval", Wide: true, Description: "After how long the cluster was asked to report again.",
		Value: func(s *binnacle.ClusterStatus) any {
			if s.Status.ReportIntervalSeconds == 0 {
				return ""
			}
			return duration.HumanDuration(time.Duration(s.Status.ReportIntervalSeconds) * time.Second)
		}},
)

func nodes(s *binnacle.ClusterStatus) string {
	if s.Status.Nodes == nil {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Status.Nodes.Ready, s.Status.Nodes.Total)
}

// free shows available/allocatable of the resources that are counted, empty where the cluster has none.
func free(s *binnacle.ClusterStatus, counted func(corev1.ResourceName) bool, show func(resource.Quantity) string) string {
	if s.Status.Resources == nil {
		return ""
	}
	allocatable, ok := sum(s.Status.Resources.Allocatable, counted)
	if !ok {
		return ""
	}
	available, _ := sum(s.Status.Resources.Available, counted)
	return show(available) + "/" + show(allocatable)
}

func sum(list corev1.ResourceList, counted func(corev1.ResourceName) bool) (total resource.Quantity, ok bool) {
	for name, amount := range list {
		if counted(name) {
			total.Add(amount)
			ok = true
		}
	}
	return total, ok
}

func isResource(name corev1.ResourceName) func(corev1.ResourceName) bool {
	return func(n corev1.ResourceName) bool { return n == name }
}

// isGPU tells the resources of the common device plugins.
func isGPU(name corev1.ResourceName) bool {
	return strings.HasSuffix(string(name), "/gpu") || name == "gpu.intel.com/i915" || name == "gpu.intel.com/xe"
}

// cores shows whole units, rounded down: what a pod can still ask for.
func cores(q resource.Quantity) string { return fmt.Sprint(q.MilliValue() / 1000) }

func gibibytes(q resource.Quantity) string { return fmt.Sprintf("%dGi", q.Value()>>30) }

func lastReport(s *binnacle.ClusterStatus) string {
	if s.Status.LastReportTime.IsZero() {
		return ""
	}
	// Another replica's clock, which the time is by, may be ahead.
	return duration.HumanDuration(max(0, time.Since(s.Status.LastReportTime.Time)))
}
