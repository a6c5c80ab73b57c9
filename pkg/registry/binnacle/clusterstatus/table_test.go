package clusterstatus

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// row is what kubectl get -o wide prints of a cluster, by column.
func row(t *testing.T, status *binnacle.ClusterStatus) map[string]any {
	t.Helper()
	printed, err := tableConvertor.ConvertToTable(t.Context(), status, &metav1.TableOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(printed.Rows) != 1 || len(printed.Rows[0].Cells) != len(printed.ColumnDefinitions) {
		t.Fatalf("%d rows", len(printed.Rows))
	}
	cells := map[string]any{}
	for i, column := range printed.ColumnDefinitions {
		if column.Description == "" {
			t.Errorf("%s is not described", column.Name)
		}
		cells[column.Name] = printed.Rows[0].Cells[i]
	}
	return cells
}

func amounts(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

func TestColumns(t *testing.T) {
	printed, err := tableConvertor.ConvertToTable(t.Context(), &binnacle.ClusterStatusList{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, column := range printed.ColumnDefinitions {
		name := column.Name
		if column.Priority > 0 {
			name = "(" + name + ")"
		}
		names = append(names, name)
	}
	want := "Name Phase Version Nodes CPU Memory GPU Placements Last-Report Age (Manager) (Reason) (Interval)"
	if diff := cmp.Diff(want, strings.Join(names, " ")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRows prints clusters of which all is known, and of which nothing is.
func TestRows(t *testing.T) {
	created := metav1.Time{Time: time.Now().Add(-49 * time.Hour)}
	full := &binnacle.ClusterStatus{
		ObjectMeta: metav1.ObjectMeta{Name: "atlas", CreationTimestamp: created},
		Status: binnacle.ClusterStatusStatus{
			Phase: binnacle.ClusterNotReady, KubernetesVersion: "v1.37.2", Nodes: &binnacle.NodeCounts{Total: 12, Ready: 11},
			Resources: &binnacle.ClusterResources{
				Allocatable: amounts("cpu", "95500m", "memory", "100Gi", "nvidia.com/gpu", "8", "amd.com/gpu", "4", "gpu.intel.com/i915", "2", "nvidia.com/gpu.shared", "64"),
				Available:   amounts("cpu", "1999m", "memory", "1535Mi", "nvidia.com/gpu", "3", "amd.com/gpu", "1"),
			},
			Placements: binnacle.PlacementSummary{Count: 3}, LastReportTime: &metav1.Time{Time: time.Now().Add(-3*time.Minute - 5*time.Second)},
			ClusterManager: "m", ReportIntervalSeconds: 90,
			Conditions: []metav1.Condition{{Type: binnacle.ConditionReady, Reason: "EtcdDown"}},
		},
	}
	tests := map[string]struct {
		status *binnacle.ClusterStatus
		want   map[string]any
	}{
		"everything": {full, map[string]any{
			"Name": "atlas", "Phase": "NotReady", "Version": "v1.37.2", "Nodes": "11/12", "CPU": "1/95", "Memory": "1Gi/100Gi", "GPU": "4/14",
			"Placements": int64(3), "Last-Report": "3m5s", "Age": "2d1h", "Manager": "m", "Reason": "EtcdDown", "Interval": "90s"}},
		"nothing": {&binnacle.ClusterStatus{ObjectMeta: metav1.ObjectMeta{Name: "atlas", CreationTimestamp: created}}, map[string]any{
			"Name": "atlas", "Phase": "", "Version": "", "Nodes": "", "CPU": "", "Memory": "", "GPU": "", "Placements": int64(0), "Last-Report": "",
			"Age": "2d1h", "Manager": "", "Reason": "", "Interval": ""}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := row(t, test.status)
			// Some seconds may pass between the time above and the row.
			if ago, _ := got["Last-Report"].(string); strings.HasPrefix(ago, "3m") {
				got["Last-Report"] = "3m5s"
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestResourcesThatAreAbsent tells none from not known.
func TestResourcesThatAreAbsent(t *testing.T) {
	tests := map[string]struct {
		resources binnacle.ClusterResources
		want      string // CPU, memory and GPU
	}{
		"none of a kind":          {binnacle.ClusterResources{Allocatable: amounts("cpu", "4"), Available: amounts("cpu", "4")}, "4/4||"},
		"capacity alone":          {binnacle.ClusterResources{Capacity: amounts("cpu", "4", "nvidia.com/gpu", "1")}, "||"},
		"available alone":         {binnacle.ClusterResources{Available: amounts("cpu", "4", "nvidia.com/gpu", "1")}, "||"},
		"nothing is left":         {binnacle.ClusterResources{Allocatable: amounts("nvidia.com/gpu", "8")}, "||0/8"},
		"zero of them":            {binnacle.ClusterResources{Allocatable: amounts("nvidia.com/gpu", "0"), Available: amounts("nvidia.com/gpu", "0")}, "||0/0"},
		"less than one processor": {binnacle.ClusterResources{Allocatable: amounts("cpu", "999m", "memory", "1023Mi")}, "0/0|0Gi/0Gi|"},
	}
	for name, test := range tests {
		cells := row(t, &binnacle.ClusterStatus{Status: binnacle.ClusterStatusStatus{Resources: &test.resources}})
		if got := cells["CPU"].(string) + "|" + cells["Memory"].(string) + "|" + cells["GPU"].(string); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// TestLastReportIsAhead is by the clock of another replica, which may be ahead of ours.
func TestLastReportIsAhead(t *testing.T) {
	for _, ahead := range []time.Duration{30 * time.Second, time.Minute, 24 * time.Hour} {
		cells := row(t, &binnacle.ClusterStatus{Status: binnacle.ClusterStatusStatus{LastReportTime: &metav1.Time{Time: time.Now().Add(ahead)}}})
		if got := cells["Last-Report"]; got != "0s" {
			t.Errorf("%s ahead: %v", ahead, got)
		}
	}
}
