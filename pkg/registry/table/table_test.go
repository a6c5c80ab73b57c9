package table

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
)

func newConvertor() rest.TableConvertor {
	return NewConvertor(
		Column[*multicluster.PlacementDecision]{Name: "Few", Wide: true, Description: "few",
			Value: func(d *multicluster.PlacementDecision) any { return len(d.Decisions) < 2 }, Type: "boolean"},
		Column[*multicluster.PlacementDecision]{Name: "Scheduler", Description: "who",
			Value: func(d *multicluster.PlacementDecision) any { return d.SchedulerName }},
		Column[*multicluster.PlacementDecision]{Name: "Count", Type: "integer", Description: "how many",
			Value: func(d *multicluster.PlacementDecision) any { return int64(len(d.Decisions)) }},
	)
}

func decision(name, scheduler string, age time.Duration) multicluster.PlacementDecision {
	return multicluster.PlacementDecision{
		ObjectMeta:    metav1.ObjectMeta{Name: name, ResourceVersion: "7", CreationTimestamp: metav1.NewTime(time.Now().Add(-age))},
		SchedulerName: scheduler,
	}
}

func TestColumnsAreInOrder(t *testing.T) {
	table, err := newConvertor().ConvertToTable(t.Context(), &multicluster.PlacementDecisionList{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	type column struct {
		Name, Type, Format string
		Priority           int32
	}
	var got []column
	for _, c := range table.ColumnDefinitions {
		if c.Description == "" {
			t.Errorf("column %s has no description", c.Name)
		}
		got = append(got, column{c.Name, c.Type, c.Format, c.Priority})
	}
	want := []column{
		{"Name", "string", "name", 0}, {"Scheduler", "string", "", 0}, {"Count", "integer", "", 0}, {"Age", "date", "", 0},
		{"Few", "boolean", "", 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRows(t *testing.T) {
	one := decision("a", "x", 3*time.Hour+time.Second)
	unborn := decision("b", "", 0)
	unborn.CreationTimestamp = metav1.Time{}
	left := int64(4)
	tests := []struct {
		name     string
		object   runtime.Object
		want     [][]any
		listMeta metav1.ListMeta
	}{
		{name: "object", object: &one, want: [][]any{{"a", "x", int64(0), "3h", true}}, listMeta: metav1.ListMeta{ResourceVersion: "7"}},
		{name: "object without a date", object: &unborn, want: [][]any{{"b", "", int64(0), "<unknown>", true}}, listMeta: metav1.ListMeta{ResourceVersion: "7"}},
		{name: "list", object: &multicluster.PlacementDecisionList{
			ListMeta: metav1.ListMeta{ResourceVersion: "9", Continue: "more", RemainingItemCount: &left},
			Items:    []multicluster.PlacementDecision{one, unborn},
		}, want: [][]any{{"a", "x", int64(0), "3h", true}, {"b", "", int64(0), "<unknown>", true}},
			listMeta: metav1.ListMeta{ResourceVersion: "9", Continue: "more", RemainingItemCount: &left}},
		{name: "empty list", object: &multicluster.PlacementDecisionList{ListMeta: metav1.ListMeta{ResourceVersion: "9"}},
			want: nil, listMeta: metav1.ListMeta{ResourceVersion: "9"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			table, err := newConvertor().ConvertToTable(t.Context(), test.object, &metav1.TableOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.listMeta, table.ListMeta); diff != "" {
				t.Errorf("metadata (-want +got):\n%s", diff)
			}
			var cells [][]any
			for _, row := range table.Rows {
				if len(row.Cells) != len(table.ColumnDefinitions) {
					t.Errorf("%d cells under %d columns", len(row.Cells), len(table.ColumnDefinitions))
				}
				cells = append(cells, row.Cells)
			}
			if diff := cmp.Diff(test.want, cells); diff != "" {
				t.Errorf("cells (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRowsCarryTheirObject is what kubectl's selectors and the includeObject option read.
func TestRowsCarryTheirObject(t *testing.T) {
	one := decision("a", "x", 0)
	table, err := newConvertor().ConvertToTable(t.Context(), &one, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := table.Rows[0].Object.Object; got != runtime.Object(&one) {
		t.Errorf("the row carries %v", got)
	}
}

func TestNoHeaders(t *testing.T) {
	one := decision("a", "x", 0)
	table, err := newConvertor().ConvertToTable(t.Context(), &one, &metav1.TableOptions{NoHeaders: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(table.ColumnDefinitions) != 0 || len(table.Rows) != 1 {
		t.Errorf("%d columns, %d rows", len(table.ColumnDefinitions), len(table.Rows))
	}
}

func TestAnotherKind(t *testing.T) {
	if _, err := newConvertor().ConvertToTable(t.Context(), &multicluster.ClusterProfile{}, nil); err == nil {
		t.Error("made rows of another kind")
	}
}
