package derive

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	pagesv1 "github.com/binnacle-dev/binnacle/pkg/apis/pages/v1"
	"github.com/binnacle-dev/binnacle/pkg/report/pages"
)

const second = 1000

// began is when the profile was created, and the cluster reported first.
const began = 1_800_000_000 * second

func profile() *multicluster.ClusterProfile {
	return &multicluster.ClusterProfile{
		ObjectMeta: metav1.ObjectMeta{
			Name: "a", Namespace: "fleet", UID: "5d1d7a3e-4d0e-4c2b-8a39-0d2f6a1f0c11", Labels: map[string]string{"region": "fra1"},
			Annotations: map[string]string{"not": "shown"}, CreationTimestamp: metav1.Unix(began/second, 0), Generation: 4, ResourceVersion: "77",
			Finalizers: []string{"example.com/wait"}, DeletionTimestamp: &metav1.Time{Time: time.Unix(began/second+5, 0)},
		},
		Spec: multicluster.ClusterProfileSpec{ClusterManager: multicluster.ClusterManager{Name: ptr.To("fleet-manager")}},
		Status: multicluster.ClusterProfileStatus{
			Version:    multicluster.ClusterVersion{Kubernetes: "v1.30.0"},
			Conditions: []metav1.Condition{{Type: "Joined", Status: metav1.ConditionTrue, Reason: "Joined", ObservedGeneration: 3}},
			Properties: []multicluster.Property{
				{Name: "both", Value: "of the profile"},
				{Name: "own", Value: "1", LastObservedTime: ptr.To(multicluster.Timestamp("2027-01-15T09:00:00.5+01:00"))},
				{Name: "timeless", Value: "2", LastObservedTime: ptr.To(multicluster.Timestamp("yesterday"))},
			},
		},
	}
}

func facts(conditions ...pagesv1.Condition) *pagesv1.Facts {
	return &pagesv1.Facts{
		Report: v1alpha1.ClusterReportSpec{
			KubernetesVersion: "v1.37.2", Nodes: &v1alpha1.NodeCounts{Total: 3, Ready: 2},
			Resources:  &v1alpha1.ClusterResources{Available: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}},
			Properties: []v1alpha1.ReportedProperty{{Name: "both", Value: "of the report"}},
		},
		Conditions: conditions, PropertyTimes: []int64{began + 7*second}, ClockSkewSeconds: -600,
	}
}

func reaching() pages.Seen {
	return pages.Seen{LastSeen: began + 100*second, Changed: began, Interval: 10}
}

func silent() pages.Seen {
	return pages.Seen{LastSeen: began + 100*second, Changed: began + 130*second, Interval: 10, Silent: true}
}

// TestIdentity is what the view takes from the profile, and what not.
func TestIdentity(t *testing.T) {
	got := ClusterStatus(Input{Profile: profile()})
	want := metav1.ObjectMeta{
		Name: "a", Namespace: "fleet", UID: UID(profile().UID), Labels: map[string]string{"region": "fra1"}, CreationTimestamp: metav1.Unix(began/second, 0),
	}
	if diff := cmp.Diff(want, got.ObjectMeta); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// A promise to garbage collection, and to every replica and version to come.
	if want := "645ce874-1fa6-5af6-9768-e3382391b096"; string(got.UID) != want {
		t.Errorf("uid %s, want %s", got.UID, want)
	}
	other := profile()
	other.UID = "5d1d7a3e-4d0e-4c2b-8a39-0d2f6a1f0c12"
	if UID(other.UID) == got.UID {
		t.Error("another cluster of the same name has the same uid")
	}
	if got.Status.ClusterManager != "fleet-manager" {
		t.Errorf("cluster manager %q", got.Status.ClusterManager)
	}
}

// TestPhases has each way to a phase, with the condition that says why and since when.
func TestPhases(t *testing.T) {
	healthy := func(status string, since int64) pagesv1.Condition {
		return pagesv1.Condition{Type: "ControlPlaneHealthy", Status: status, Reason: "Probe", Since: began + since*second}
	}
	ready := func(status string, since int64) pagesv1.Condition {
		return pagesv1.Condition{Type: "Ready", Status: status, Reason: "Own", Since: began + since*second}
	}
	suspect := pagesv1.Head{SuspectFrom: began + 120*second}
	tests := []struct {
		name              string
		in                Input
		phase             binnacle.ClusterPhase
		ready, reachable  metav1.ConditionStatus
		reason            string
		since             int64
		controlPlane, hub string
	}{
		{"never reported", Input{}, "Unknown", "Unknown", "Unknown", "NeverReported", 0, "", ""},
		{"says nothing of itself", Input{Facts: facts(), Seen: reaching()}, "Ready", "True", "True", "Reporting", 0, "", ""},
		{"healthy", Input{Facts: facts(healthy("True", 0)), Seen: reaching()}, "Ready", "True", "True", "Probe", 0, "True", ""},
		{"ill", Input{Facts: facts(healthy("False", 40)), Seen: reaching()}, "NotReady", "False", "True", "Probe", 40, "False", ""},
		{"does not know", Input{Facts: facts(healthy("Unknown", 40)), Seen: reaching()}, "NotReady", "Unknown", "True", "Probe", 40, "Unknown", ""},
		{"its own word comes first", Input{Facts: facts(healthy("False", 40), ready("True", 9)), Seen: reaching()}, "Ready", "True", "True", "Own", 9, "False", ""},
		{"silent", Input{Facts: facts(healthy("True", 0)), Seen: silent()}, "Unreachable", "Unknown", "False", "ReportsStopped", 130, "Unknown", ""},
		{"silent with many others", Input{Facts: facts(), Seen: silent(), Head: suspect}, "Unreachable", "Unknown", "False", "ReportsStopped", 130, "", "True"},
		{"silent before the many", Input{Facts: facts(), Seen: silent(), Head: pagesv1.Head{SuspectFrom: began + 131*second}}, "Unreachable", "Unknown", "False", "ReportsStopped", 130, "", ""},
		{"reports while many are silent", Input{Facts: facts(), Seen: reaching(), Head: suspect}, "Ready", "True", "True", "Reporting", 0, "", ""},
		{"back after a silence", Input{Facts: facts(healthy("True", 0)), Seen: pages.Seen{LastSeen: began + 900*second, Changed: began + 890*second}},
			"Ready", "True", "True", "Probe", 890, "True", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.in.Profile = profile()
			got := ClusterStatus(test.in).Status
			status := func(conditionType string) string {
				if c := meta.FindStatusCondition(got.Conditions, conditionType); c != nil {
					return string(c.Status)
				}
				return ""
			}
			c := meta.FindStatusCondition(got.Conditions, "Ready")
			want := fmt.Sprint(test.phase, test.ready, test.reachable, test.reason, test.since, test.controlPlane, test.hub)
			if diff := cmp.Diff(want, fmt.Sprint(got.Phase, c.Status, metav1.ConditionStatus(status("Reachable")), c.Reason, c.LastTransitionTime.Unix()-began/second,
				status("ControlPlaneHealthy"), status("HubSuspect"))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if status("Joined") != "True" {
				t.Error("the condition of the profile is not there")
			}
			seen := map[string]bool{}
			for _, c := range got.Conditions {
				if seen[c.Type] || c.Reason == "" {
					t.Errorf("%s: twice %v, reason %q", c.Type, seen[c.Type], c.Reason)
				}
				seen[c.Type] = true
			}
		})
	}
}

// TestForeignConditions keeps our own conditions ours, and the report's before the profile's.
func TestForeignConditions(t *testing.T) {
	p := profile()
	p.Status.Conditions = []metav1.Condition{
		{Type: "HubSuspect", Status: "True", Reason: "X"}, {Type: "Ready", Status: "False", Reason: "X"}, {Type: "Disk", Status: "False", Reason: "X"},
	}
	got := ClusterStatus(Input{Profile: p, Seen: reaching(), Facts: facts(
		pagesv1.Condition{Type: "HubSuspect", Status: "True"}, pagesv1.Condition{Type: "Reachable", Status: "False"}, pagesv1.Condition{Type: "Disk", Status: "True"},
	)}).Status.Conditions
	var list []string
	for _, c := range got {
		list = append(list, c.Type+"="+string(c.Status)+"/"+c.Reason)
	}
	if diff := cmp.Diff([]string{"Ready=True/Reporting", "Reachable=True/Reporting", "Disk=True/Reported"}, list); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFacts is what the view takes from the report.
func TestFacts(t *testing.T) {
	got := ClusterStatus(Input{
		Profile: profile(), Facts: facts(), Seen: reaching(), Head: pagesv1.Head{Parameters: pagesv1.Parameters{GrainSeconds: 300}},
		Placements: []string{"fleet/a", "fleet/b"},
	}).Status
	if got.KubernetesVersion != "v1.37.2" || got.ClockSkewSeconds != -600 || got.ReportIntervalSeconds != 10 || *got.Nodes != (binnacle.NodeCounts{Total: 3, Ready: 2}) {
		t.Errorf("%+v", got)
	}
	if gpus := got.Resources.Available["nvidia.com/gpu"]; gpus.Value() != 8 {
		t.Errorf("%s GPUs", gpus.String())
	}
	if last := got.LastReportTime.Unix(); last > reaching().LastSeen/second || last < began/second {
		t.Errorf("last report %d s after the first", last-began/second)
	}
	want := []binnacle.SourcedProperty{
		{Name: "both", Value: "of the report", Source: "Report", Time: &metav1.Time{Time: time.Unix(began/second+7, 0)}},
		{Name: "own", Value: "1", Source: "ClusterProfile", Time: &metav1.Time{Time: time.Date(2027, 1, 15, 8, 0, 0, 5e8, time.UTC)}},
		{Name: "timeless", Value: "2", Source: "ClusterProfile"},
	}
	if diff := cmp.Diff(want, got.Properties); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(binnacle.PlacementSummary{Count: 2, Keys: []string{"fleet/a", "fleet/b"}}, got.Placements); diff != "" {
		t.Errorf("placements (-want +got):\n%s", diff)
	}
}

// TestSilentLastReport is exact: nothing will come that makes another event of it.
func TestSilentLastReport(t *testing.T) {
	got := ClusterStatus(Input{Profile: profile(), Facts: facts(), Seen: silent(), Head: pagesv1.Head{Parameters: pagesv1.Parameters{GrainSeconds: 300}}})
	if last := got.Status.LastReportTime.Unix(); last != silent().LastSeen/second {
		t.Errorf("last report %d s after the first", last-began/second)
	}
}

// TestBoundedPlacements counts all decisions and lists the first.
func TestBoundedPlacements(t *testing.T) {
	var keys []string
	for i := range 50 {
		keys = append(keys, fmt.Sprintf("fleet/%02d", i))
	}
	got := ClusterStatus(Input{Profile: profile(), Placements: keys}).Status.Placements
	if got.Count != 50 || len(got.Keys) != MaxPlacementKeys || got.Keys[19] != "fleet/19" {
		t.Errorf("%+v", got)
	}
}
