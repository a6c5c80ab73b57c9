package docs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/rollout"
)

// verbRows is the table of what every verb of a Rollout does in every phase, as Markdown. Phases in which it does the same share a row.
func verbRows() []string {
	rows := []string{"| verb | in | does | leads to |", "|---|---|---|---|"}
	for _, verb := range binnacle.RolloutVerbs {
		var order []string
		phases := map[string][]string{}
		for _, phase := range rollout.Phases {
			cell := rollout.Table[phase][verb]
			what := "is refused: it " + cell.Says + " | –"
			if len(cell.To) > 0 {
				what = cell.Says + " | " + join(cell.To)
			}
			if len(phases[what]) == 0 {
				order = append(order, what)
			}
			phases[what] = append(phases[what], string(phase))
		}
		for _, what := range order {
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |", verb, strings.Join(phases[what], ", "), what))
		}
	}
	return rows
}

func join(phases []binnacle.RolloutPhase) string {
	var names []string
	for _, phase := range phases {
		names = append(names, string(phase))
	}
	return strings.Join(names, ", ")
}

// compareVerbs compares the table of a page with that of the planner.
func compareVerbs(t *testing.T, b block) {
	if want := verbRows(); !slices.Equal(b.text, want) {
		t.Errorf("the table of verbs is not the planner's, which is\n%s", strings.Join(want, "\n"))
	}
}
