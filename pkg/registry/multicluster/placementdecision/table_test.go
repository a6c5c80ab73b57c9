package placementdecision

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
	table, err := tableConvertor.ConvertToTable(t.Context(), &multicluster.PlacementDecisionList{}, nil)
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
	want := []column{{"Name", 0}, {"Clusters", 0}, {"Decision-Key", 0}, {"Index", 0}, {"Scheduler", 0}, {"Age", 0},
		{"Placement-Key", 1}, {"Cluster-Names", 1}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(column{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRows(t *testing.T) {
	full := stored()
	full.CreationTimestamp = metav1.NewTime(time.Now().Add(-90 * time.Second))
	fullRow := []any{"payments-0", int64(2), "payments", "0", "fleet-scheduler", "90s", "payments-api", "store-0,store-1"}
	bare := &multicluster.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Name: "bare"}}
	bareRow := []any{"bare", int64(0), "", "", "", "<unknown>", "", ""}
	tests := []struct {
		name   string
		object runtime.Object
		want   [][]any
	}{
		{"object", full, [][]any{fullRow}},
		{"object that says nothing", bare, [][]any{bareRow}},
		{"list", &multicluster.PlacementDecisionList{Items: []multicluster.PlacementDecision{*full, *bare}}, [][]any{fullRow, bareRow}},
		{"empty list", &multicluster.PlacementDecisionList{}, nil},
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

func TestClusterNames(t *testing.T) {
	ref := func(name, namespace *string) multicluster.ClusterDecision {
		return multicluster.ClusterDecision{ClusterProfileRef: multicluster.ClusterProfileReference{Name: name, Namespace: namespace}}
	}
	tests := []struct {
		name      string
		decisions multicluster.ClusterDecisions
		want      string
	}{
		{"none", nil, ""},
		{"three fit", clusters(3), "store-0,store-1,store-2"},
		{"the fourth does not", clusters(4), "store-0,store-1,store-2,+1 more"},
		{"a full slice", clusters(100), "store-0,store-1,store-2,+97 more"},
		{"namespaces", multicluster.ClusterDecisions{ref(ptr.To("a"), ptr.To("fleet")), ref(ptr.To("b"), ptr.To("")), ref(ptr.To("c"), ptr.To("other"))},
			"a,b,other/c"},
		{"no name", multicluster.ClusterDecisions{ref(nil, nil)}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			decision := stored()
			decision.Decisions = test.decisions
			if got := clusterNames(decision); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestAttributes(t *testing.T) {
	labels, fields, err := attributes(stored())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stored().Labels, map[string]string(labels)); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	want := map[string]string{"metadata.name": "payments-0", "metadata.namespace": "fleet", "schedulerName": "fleet-scheduler"}
	if diff := cmp.Diff(want, map[string]string(fields)); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	if _, _, err := attributes(&multicluster.ClusterProfile{}); err == nil {
		t.Error("attributes of another kind")
	}
	// What can be selected is what the served versions accept as a selector.
	for _, version := range bothVersions {
		gvk := multicluster.SchemeGroupVersion.WithKind("PlacementDecision")
		gvk.Version = version
		for label := range want {
			if _, _, err := testScheme.ConvertFieldLabel(gvk, label, "x"); err != nil {
				t.Errorf("%s: %v", version, err)
			}
		}
		for _, label := range []string{"spec.clusterManager.name", "decisions", ""} {
			if _, _, err := testScheme.ConvertFieldLabel(gvk, label, "x"); err == nil {
				t.Errorf("%s: the selector %q is accepted", version, label)
			}
		}
	}
}
