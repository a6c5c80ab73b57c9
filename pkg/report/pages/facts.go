package pages

import (
	"crypto/sha256"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	pagesv1 "github.com/binnacle-dev/binnacle/pkg/apis/pages/v1"
)

// Arrival is the newest report of a cluster that no page holds yet.
type Arrival struct {
	// UID of the ClusterProfile.
	UID types.UID
	// Received is when the report arrived.
	Received int64
	// Interval is after how many seconds the cluster was asked to report again.
	Interval int32
	// Skew is by how many seconds the clock of the cluster was ahead.
	Skew int64
	// Report is what the cluster said, and Digest the Digest of it.
	Report *v1alpha1.ClusterReportSpec
	Digest ReportDigest
}

// ReportDigest is the Digest of a report.
type ReportDigest [sha256.Size]byte

// Digest of a report, less what each report changes: two reports with the same facts have the same one.
func Digest(report *v1alpha1.ClusterReportSpec) (ReportDigest, error) {
	facts := factsOf(report)
	data, err := facts.Marshal()
	return sha256.Sum256(data), err
}

// factsOf is the report without what each report changes.
func factsOf(report *v1alpha1.ClusterReportSpec) v1alpha1.ClusterReportSpec {
	facts := *report
	facts.ClusterProfileUID, facts.Time = nil, nil
	return facts
}

// The clock of a cluster is called skewed from skewShown seconds on, until it is below skewHidden, and the figure moves in steps of
// skewStep: the way of a report takes its time, and no two take the same.
const (
	skewShown  = 30
	skewHidden = 20
	skewStep   = 10
)

func nextSkew(shown, measured int64) int64 {
	switch size := abs(measured); {
	case size < skewHidden, shown == 0 && size < skewShown:
		return 0
	case abs(measured-shown) < skewStep:
		return shown
	}
	return measured
}

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}

// merge returns the facts after an arrival, and whether they are others than before it. Without a cluster before, old is nil.
func merge(old *Entry, a Arrival) (*pagesv1.Facts, bool) {
	facts := &pagesv1.Facts{UID: string(a.UID), Report: factsOf(a.Report)}
	if old == nil {
		facts.ClockSkewSeconds = nextSkew(0, a.Skew)
		facts.Conditions, _ = mergeConditions(nil, a)
		facts.PropertyTimes = propertyTimes(nil, a)
		return facts, true
	}
	skew := nextSkew(old.Facts.ClockSkewSeconds, a.Skew)
	conditions, moved := old.Facts.Conditions, false
	same := old.digest == a.Digest
	if !same || pendingIn(conditions) {
		conditions, moved = mergeConditions(old.Facts.Conditions, a)
	}
	if same && !moved && skew == old.Facts.ClockSkewSeconds {
		return old.Facts, false
	}
	facts.Slot, facts.ClockSkewSeconds, facts.Conditions = old.Facts.Slot, skew, conditions
	facts.PropertyTimes = propertyTimes(old.Facts, a)
	return facts, true
}

func pendingIn(conditions []pagesv1.Condition) bool {
	return slices.ContainsFunc(conditions, func(c pagesv1.Condition) bool { return c.PendingSince != 0 })
}

// mergeConditions lets a status change once a second report in a row says so: one bad moment of a healthy cluster is no transition, nor
// is one good moment of an ill one.
func mergeConditions(old []pagesv1.Condition, a Arrival) (merged []pagesv1.Condition, moved bool) {
	for _, reported := range a.Report.Conditions {
		next := pagesv1.Condition{
			Type: reported.Type, Status: string(reported.Status), Reason: reported.Reason, Message: reported.Message, Since: a.Received,
		}
		i := slices.IndexFunc(old, func(c pagesv1.Condition) bool { return c.Type == reported.Type })
		switch {
		case i < 0:
		case old[i].Status == next.Status:
			next.Since = old[i].Since
		case old[i].PendingSince == 0 || old[i].PendingStatus != next.Status:
			status := next.Status
			next = old[i]
			next.PendingSince, next.PendingStatus = a.Received, status
		case a.Received <= old[i].PendingSince: // The same report again, from the other side of a lost answer.
			next = old[i]
		}
		moved = moved || i < 0 || next != old[i]
		merged = append(merged, next)
	}
	return merged, moved || len(merged) != len(old)
}

// propertyTimes are since when the properties have their values.
func propertyTimes(old *pagesv1.Facts, a Arrival) []int64 {
	times := make([]int64, len(a.Report.Properties))
	for i, property := range a.Report.Properties {
		times[i] = a.Received
		if old == nil {
			continue
		}
		// A reporter keeps the order of its properties, so the search mostly ends where it begins.
		if j := indexOf(old.Report.Properties, property, i); j >= 0 && j < len(old.PropertyTimes) {
			times[i] = old.PropertyTimes[j]
		}
	}
	return times
}

func indexOf(properties []v1alpha1.ReportedProperty, property v1alpha1.ReportedProperty, guess int) int {
	if guess < len(properties) && properties[guess] == property {
		return guess
	}
	return slices.Index(properties, property)
}
