package clusterprofile

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
)

func TestColumns(t *testing.T) {
	table, err := tableConvertor.ConvertToTable(t.Context(), &multicluster.ClusterProfileList{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	type column struct {
		name     string
		priority int32
	}
	var got []column
	for _, c := range table.ColumnDefinitions {
		got = append(got, column{c.Name, c.Priority})
	}
	// The plain ones are upstream's of v1alpha2.
	want := []column{{"Name", 0}, {"Display Name", 0}, {"Manager", 0}, {"Version", 0}, {"Healthy", 0}, {"Age", 0},
		{"Joined", 1}, {"Member", 1}, {"Properties", 1}, {"Access", 1}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(column{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRows(t *testing.T) {
	full := stored()
	full.CreationTimestamp = metav1.NewTime(time.Now().Add(-49 * time.Hour))
	full.Labels[multicluster.LabelInventoryMemberIDKey] = "member-1"
	full.Status.Conditions = []metav1.Condition{
		{Type: "Joined", Status: metav1.ConditionUnknown}, {Type: "ControlPlaneHealthy", Status: metav1.ConditionFalse}}
	fullRow := []any{"atlas", "Atlas", "fleet-manager", "v1.37.2", "False", "2d1h", "Unknown", "member-1", int64(1), "a,b"}
	bare := &multicluster.ClusterProfile{ObjectMeta: metav1.ObjectMeta{Name: "bare"},
		Status: multicluster.ClusterProfileStatus{AccessProviders: []multicluster.AccessProvider{{}}}}
	bareRow := []any{"bare", "", "", "", "", "<unknown>", "", "", int64(0), ""}
	tests := []struct {
		name   string
		object runtime.Object
		want   [][]any
	}{
		{"object", full, [][]any{fullRow}},
		{"object that says nothing", bare, [][]any{bareRow}},
		{"list", &multicluster.ClusterProfileList{Items: []multicluster.ClusterProfile{*full, *bare}}, [][]any{fullRow, bareRow}},
		{"empty list", &multicluster.ClusterProfileList{}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			table, err := tableConvertor.ConvertToTable(t.Context(), test.object, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got [][]any
			for _, row := range table.Rows {
				got = append(got, row.Cells)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAttributes(t *testing.T) {
	labels, fields, err := attributes(stored())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"env": "prod"}, map[string]string(labels)); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	want := map[string]string{"metadata.name": "atlas", "metadata.namespace": "fleet", "spec.clusterManager.name": "fleet-manager"}
	if diff := cmp.Diff(want, map[string]string(fields)); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	unnamed := stored()
	unnamed.Spec.ClusterManager.Name = ptr.To("")
	if _, fields, err := attributes(unnamed); err != nil || fields["spec.clusterManager.name"] != "" {
		t.Errorf("%v, %v", fields, err)
	}
	if _, _, err := attributes(&multicluster.PlacementDecision{}); err == nil {
		t.Error("attributes of another kind")
	}
	// What can be selected is what the served versions accept as a selector.
	for _, version := range bothVersions {
		gvk := multicluster.SchemeGroupVersion.WithKind("ClusterProfile")
		gvk.Version = version
		for label := range want {
			if _, _, err := testScheme.ConvertFieldLabel(gvk, label, "x"); err != nil {
				t.Errorf("%s: %v", version, err)
			}
		}
		for _, label := range []string{"schedulerName", "spec.displayName", "status.version.kubernetes", ""} {
			if _, _, err := testScheme.ConvertFieldLabel(gvk, label, "x"); err == nil {
				t.Errorf("%s: the selector %q is accepted", version, label)
			}
		}
	}
}
