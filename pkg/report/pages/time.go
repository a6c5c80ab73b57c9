package pages

import (
	"hash/fnv"

	"k8s.io/apimachinery/pkg/types"

	pagesv1 "github.com/binnacle-dev/binnacle/pkg/apis/pages/v1"
)

// Grace is how long a cluster may be silent, in milliseconds: so many of its intervals, and never less than the shortest.
func Grace(interval int32, p pagesv1.Parameters) int64 {
	return max(int64(interval)*p.GraceIntervals, p.GraceSeconds) * second
}

// Coarse cuts a time down to the grain. Each cluster has a beat of its own, so that a fleet that reports all the time does not change in
// the view at one moment. The result is never later than the time.
func Coarse(uid types.UID, at int64, p pagesv1.Parameters) int64 {
	grain := p.GrainSeconds * second
	if grain <= 0 || at == 0 {
		return at
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(uid))
	beat := int64(h.Sum32()) % grain / second * second
	if at < beat {
		return at
	}
	return at - (at-beat)%grain
}
