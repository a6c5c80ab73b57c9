package viewlog

import (
	"fmt"
	"math"
	"strconv"
)

const (
	// ordinalBits is how many low bits of a resourceVersion number the events inside a revision.
	ordinalBits = 20
	// markerOrdinal stands behind every event of a revision: with it, a resourceVersion says that the revision is complete.
	markerOrdinal = 1<<ordinalBits - 1

	// MaxOrdinal is how many events one revision can have at most.
	MaxOrdinal = markerOrdinal - 1
	// MaxRevision is the last revision whose resourceVersions fit into the signed number of a continue token.
	MaxRevision = math.MaxInt64 >> ordinalBits
)

// RV returns the resourceVersion of an event, which is number ordinal, from 1, of a revision. What does not fit is an error: a number that
// wrapped would compare wrongly for ever.
func RV(revision int64, ordinal int) (uint64, error) {
	if revision < 0 || revision > MaxRevision {
		return 0, fmt.Errorf("revision %d cannot be part of a resourceVersion: the last that can is %d", revision, int64(MaxRevision))
	}
	if ordinal < 1 || ordinal > MaxOrdinal {
		return 0, fmt.Errorf("event %d of revision %d has no resourceVersion: they are numbered from 1 to %d", ordinal, revision, MaxOrdinal)
	}
	return uint64(revision)<<ordinalBits | uint64(ordinal), nil
}

// Marker returns the resourceVersion that says that a revision is complete. It is above every event of the revision and never the
// resourceVersion of one. For a revision out of range it is that of the nearest in range.
func Marker(revision int64) uint64 {
	revision = min(max(revision, 0), MaxRevision)
	return uint64(revision)<<ordinalBits | markerOrdinal
}

// Revision returns the revision that a resourceVersion belongs to.
func Revision(rv uint64) int64 {
	return int64(rv >> ordinalBits)
}

func format(rv uint64) string {
	return strconv.FormatUint(rv, 10)
}
