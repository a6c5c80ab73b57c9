package operations

import (
	"encoding/json"
	"os"
	"testing"
)

// dashboard is what the tests need of one in Grafana.
type dashboard struct {
	Title      string
	Templating struct {
		List []struct{ Name, Type, Query string }
	}
	Panels []struct {
		ID         int
		Type       string
		Title      string
		Datasource struct{ Type, UID string }
		GridPos    struct{ X, Y, W, H int }
		Targets    []struct {
			Expr       string
			RefID      string
			Datasource struct{ Type, UID string }
		}
	}
}

// dashboardMetrics are the metrics in the expressions of the dashboard, which must take its data source from a variable.
func dashboardMetrics(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(artifacts(t, "monitoring", "grafana-dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	if list := d.Templating.List; len(list) != 1 || list[0].Type != "datasource" || list[0].Query != "prometheus" {
		t.Fatalf("the dashboard has no variable of its data source: %+v", list)
	}
	source := "${" + d.Templating.List[0].Name + "}"
	var names []string
	ids := map[int]bool{}
	cells := map[[2]int]string{}
	for _, panel := range d.Panels {
		if panel.Title == "" || ids[panel.ID] || panel.Datasource.UID != source {
			t.Errorf("panel %d, %q: it needs a title, an id of its own and the data source %s", panel.ID, panel.Title, source)
		}
		ids[panel.ID] = true
		for x := panel.GridPos.X; x < panel.GridPos.X+panel.GridPos.W; x++ {
			for y := panel.GridPos.Y; y < panel.GridPos.Y+panel.GridPos.H; y++ {
				if other, taken := cells[[2]int{x, y}]; taken || x >= 24 {
					t.Fatalf("%q lies over %q, or beyond the right edge", panel.Title, other)
				}
				cells[[2]int{x, y}] = panel.Title
			}
		}
		for _, target := range panel.Targets {
			found := metricsIn(target.Expr)
			if len(found) == 0 || target.Datasource.UID != source {
				t.Errorf("%q: %q asks for no metric, or another data source", panel.Title, target.Expr)
			}
			names = append(names, found...)
		}
	}
	if len(names) < 10 {
		t.Fatalf("the dashboard names %q", names)
	}
	return names
}
