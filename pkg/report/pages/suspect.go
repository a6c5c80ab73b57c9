package pages

import pagesv1 "github.com/binnacle-dev/binnacle/pkg/apis/pages/v1"

const (
	// suspectWindow is how long a silence counts as one of many at once, in milliseconds.
	suspectWindow = 15 * 60 * second
	// suspectLeast is the number of clusters below which no silence is a mass.
	suspectLeast = 3
)

// suspectFrom returns since when silences belong to a mass of them, 0 where there is none: more than the set share of all clusters that
// ever reported fell silent within the last quarter of an hour and still are.
func suspectFrom(silences []int64, total int, now int64, head pagesv1.Head) int64 {
	count, first := 0, now
	for _, since := range silences {
		if now-since <= suspectWindow {
			count++
			first = min(first, since)
		}
	}
	if count < suspectLeast || int64(count)*100 <= int64(total)*head.Parameters.SuspectPercent {
		return 0
	}
	if head.SuspectFrom != 0 {
		return min(head.SuspectFrom, first)
	}
	return first
}
