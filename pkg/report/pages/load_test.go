package pages

import (
	"fmt"
	"strings"
	"testing"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// TestOldPagesGoUnderLoad changes most clusters all the time, so that each publication is full, and a few never: the pages stay bounded.
func TestOldPagesGoUnderLoad(t *testing.T) {
	const clusters, still = 14, 4 // of about 40 KiB each, of which one publication holds nine
	f := newFleet(t).register(clusters)
	big := func(text string) func(*v1alpha1.ClusterReportSpec) {
		return func(s *v1alpha1.ClusterReportSpec) {
			for i := range 40 {
				s.Properties = append(s.Properties, v1alpha1.ReportedProperty{Name: fmt.Sprint(text, i), Value: strings.Repeat("v", 1000)})
			}
		}
	}
	for round := range 500 {
		var in Input
		for n := range clusters {
			// The first publications have the still ones in pages of their own, between others.
			if cluster := (n + round*5) % clusters; round < 12 || cluster >= still {
				name := fmt.Sprint("moving-", round, "-")
				if cluster < still {
					name = "still-"
				}
				in.Arrivals = append(in.Arrivals, f.report(cluster, big(name)))
			}
		}
		f.after(5).publish(in)
		if pages := len(f.state.facts); pages > 3*maxPages/2 {
			t.Fatalf("%d pages after %d publications", pages, round)
		}
	}
	f.same()
}
