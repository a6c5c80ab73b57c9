package kubectl

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// none stands for a value that clusters do not have.
const none = "<none>"

// describeFleet is the fleet in three tables and a line or two.
func describeFleet(f *fleet, now time.Time) string {
	parts := []string{phaseTable(f), versionTable(f), groupTable(f)}
	lines := ""
	if f.Oldest != nil {
		lines = fmt.Sprintf("Oldest report: %s, %s ago (%s)\n", f.Oldest.Cluster, duration.HumanDuration(max(0, now.Sub(f.Oldest.Time))), f.Oldest.Phase)
	}
	if f.Suspects > 0 {
		lines += fmt.Sprintf("HubSuspect: %s: %s\n", plural(int(f.Suspects)), f.SuspectSays)
	}
	if lines != "" {
		parts = append(parts, lines)
	}
	return strings.Join(parts, "\n")
}

func phaseTable(f *fleet) string {
	header, row := []string{"CLUSTERS"}, []string{fmt.Sprint(f.Clusters)}
	for _, phase := range []v1alpha1.ClusterPhase{v1alpha1.ClusterReady, v1alpha1.ClusterNotReady, v1alpha1.ClusterUnreachable, v1alpha1.ClusterUnknown} {
		header, row = append(header, strings.ToUpper(string(phase))), append(row, fmt.Sprint(f.Phases[string(phase)]))
	}
	return table([][]string{header, row})
}

// versionTable has the newest minor version first.
func versionTable(f *fleet) string {
	rows, counts := [][]string{{"VERSION", "CLUSTERS"}}, map[string]int64{}
	for v, clusters := range f.Versions {
		counts[minorOf(v)] += clusters
	}
	for _, v := range slices.SortedFunc(maps.Keys(counts), newestFirst) {
		rows = append(rows, []string{cmp.Or(shorten(v, 32), none), fmt.Sprint(counts[v])})
	}
	return table(rows)
}

// minorOf is v1.37 of v1.37.2-eks-f26e12d. What is no version is left as it is.
func minorOf(text string) string {
	v, err := version.ParseGeneric(text)
	if err != nil {
		return text
	}
	return fmt.Sprintf("v%d.%d", v.Major(), v.Minor())
}

func newestFirst(a, b string) int {
	left, leftErr := version.ParseGeneric(a)
	right, rightErr := version.ParseGeneric(b)
	switch {
	case leftErr != nil && rightErr != nil:
		return cmp.Compare(a, b)
	case leftErr != nil:
		return 1
	case rightErr != nil:
		return -1
	case left.LessThan(right):
		return 1
	case right.LessThan(left):
		return -1
	}
	return cmp.Compare(a, b)
}

// groupTable has a row of sums where there is more than one group.
func groupTable(f *fleet) string {
	what := strings.ToUpper(last(f.Resource))
	rows := [][]string{{strings.ToUpper(last(f.GroupBy)), "CLUSTERS", "READY", what + "-FREE", what + "-TOTAL"}}
	all := &share{}
	row := func(name string, g *share) {
		rows = append(rows, []string{name, fmt.Sprint(g.Clusters), fmt.Sprint(g.Ready), g.Free.String(), g.Total.String()})
	}
	for _, name := range slices.Sorted(maps.Keys(f.Groups)) {
		g := f.Groups[name]
		row(cmp.Or(shorten(name, 32), none), g)
		all.Clusters += g.Clusters
		all.Ready += g.Ready
		all.Free.Add(g.Free)
		all.Total.Add(g.Total)
	}
	if len(f.Groups) > 1 {
		row("(all)", all)
	}
	return table(rows)
}

// last is the part of a qualified name behind the slash.
func last(name string) string {
	return name[strings.LastIndex(name, "/")+1:]
}
