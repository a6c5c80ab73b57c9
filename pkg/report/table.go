package report

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/report/pages"
)

const (
	// leastInterval is how long a cluster has to wait at least from one report to the next.
	leastInterval = time.Second
	// remembered is for how long a cluster that stays away counts among those that report to this replica.
	remembered = 5 * time.Minute
	// usable is the share of the capacity that reports are spread over; the rest is for those that do not keep to what they are told.
	usable = 0.8
	// spread is by which share the time until the next report differs from answer to answer, to either side.
	spread = 0.1
)

// Limits are how many reports a replica takes.
type Limits struct {
	// Interval is after how long a cluster that has no wish reports again.
	Interval time.Duration
	// PerSecond is how many reports a second this replica takes from all clusters together.
	PerSecond int
}

// Table keeps the reports that arrived at this replica until they are published.
type Table struct {
	limits  Limits
	clock   *Clock
	limiter *rate.Limiter

	mu       sync.Mutex
	clusters map[types.UID]*cluster
}

// cluster is what a replica remembers of a cluster that reports to it.
type cluster struct {
	accepted time.Time
	// digest is that of the last report that was accepted.
	digest pages.ReportDigest
	// arrival is nil once it is published.
	arrival *pages.Arrival
	// waiting is when the first report arrived that is not published, which newer ones may have replaced.
	waiting int64
}

// NewTable returns an empty table.
func NewTable(limits Limits, clock *Clock) *Table {
	return &Table{
		limits: limits, clock: clock, limiter: rate.NewLimiter(rate.Limit(limits.PerSecond), limits.PerSecond),
		clusters: map[types.UID]*cluster{},
	}
}

// Answer is what a cluster is told.
type Answer struct {
	// Received is when the report arrived, by the clock of the view.
	Received int64
	// Next is in how many seconds to report again.
	Next int32
	// Skew is by how many seconds the clock of the cluster is ahead, nil where the report has no time.
	Skew *int64
}

// Knows says whether the last report of the cluster was accepted with the same facts: then they need no second validation, which is the
// case for nearly every report.
func (t *Table) Knows(uid types.UID, digest pages.ReportDigest) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.clusters[uid]
	return c != nil && c.digest == digest
}

// Accept takes a valid report with its digest; it must not change afterwards. A dry run is answered likewise and forgotten. The errors are answers:
// 429 where the cluster reports too often, or all clusters do.
func (t *Table) Accept(uid types.UID, report *v1alpha1.ClusterReportSpec, digest pages.ReportDigest, dryRun bool) (Answer, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, wall := t.clock.Now(), t.clock.wall.Now()
	known := t.clusters[uid]
	if known != nil && wall.Sub(known.accepted) < leastInterval {
		refused.WithLabelValues(reasonTooOften).Inc()
		return Answer{}, apierrors.NewTooManyRequests("a cluster may report once a second", int(leastInterval/time.Second))
	}
	interval := t.interval(report)
	if !dryRun && !t.limiter.AllowN(wall, 1) {
		refused.WithLabelValues(reasonOverload).Inc()
		return Answer{}, apierrors.NewTooManyRequests("more clusters report than this server takes at once", int(jittered(interval)))
	}
	answer := Answer{Received: now, Next: jittered(interval)}
	arrival := pages.Arrival{UID: uid, Received: now, Interval: interval, Report: report, Digest: digest}
	if !report.Time.IsZero() {
		// By the clock of the machine: that of the view may be ahead of it.
		skew := skew(wall.UnixMilli(), report.Time.UnixMilli())
		answer.Skew, arrival.Skew = &skew, skew
	}
	if dryRun {
		return answer, nil
	}
	if known == nil {
		known = &cluster{}
		t.clusters[uid] = known
	}
	if known.arrival == nil {
		known.waiting = now
	}
	known.accepted, known.digest, known.arrival = wall, digest, &arrival
	accepted.Inc()
	return answer, nil
}

// skew is by how many seconds the member's clock is ahead.
func skew(now, member int64) int64 { return (member - now) / 1000 }

// interval is after how many seconds a cluster should report again: what it wishes, or longer where that would be more reports than
// this replica takes.
func (t *Table) interval(report *v1alpha1.ClusterReportSpec) int32 {
	seconds := t.limits.Interval.Seconds()
	if wish := report.IntervalSeconds; wish != nil {
		seconds = float64(*wish)
	}
	sustained := float64(len(t.clusters)) / (usable * float64(t.limits.PerSecond))
	return int32(math.Ceil(max(seconds, sustained)))
}

// jittered spreads reports that came at one time.
func jittered(interval int32) int32 {
	return max(1, int32(math.Round(float64(interval)*(1-spread+2*spread*rand.Float64()))))
}

// Take returns what is to be published, those first that wait for the longest: where it is more than can be written, none must wait for
// ever, as it would be taken for silent. It stays in the table until Published.
func (t *Table) Take() []pages.Arrival {
	t.mu.Lock()
	defer t.mu.Unlock()
	var waiting []*cluster
	for _, c := range t.clusters {
		if c.arrival != nil {
			waiting = append(waiting, c)
		}
	}
	slices.SortFunc(waiting, func(a, b *cluster) int {
		return cmp.Or(cmp.Compare(a.waiting, b.waiting), cmp.Compare(a.arrival.UID, b.arrival.UID))
	})
	arrivals := make([]pages.Arrival, 0, len(waiting))
	for _, c := range waiting {
		arrivals = append(arrivals, *c.arrival)
	}
	return arrivals
}

// Published says which arrivals are in etcd, and forgets clusters that have long been away.
func (t *Table) Published(arrivals []pages.Arrival) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range arrivals {
		c := t.clusters[a.UID]
		if c == nil || c.arrival == nil {
			continue
		}
		if c.arrival.Received == a.Received {
			c.arrival = nil
		} else { // A newer report has come since.
			c.waiting = c.arrival.Received
		}
	}
	wall := t.clock.wall.Now()
	for uid, c := range t.clusters {
		if c.arrival == nil && wall.Sub(c.accepted) > remembered {
			delete(t.clusters, uid)
		}
	}
}

// Newest returns the report of a cluster that is not published yet, if there is one.
func (t *Table) Newest(uid types.UID) (pages.Arrival, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.clusters[uid]; c != nil && c.arrival != nil {
		return *c.arrival, true
	}
	return pages.Arrival{}, false
}

// Oldest is for how long a cluster has waited for a report of its to be published, 0 where all are.
func (t *Table) Oldest() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, oldest := t.clock.Now(), time.Duration(0)
	for _, c := range t.clusters {
		if c.arrival != nil {
			oldest = max(oldest, time.Duration(now-c.waiting)*time.Millisecond)
		}
	}
	return oldest
}
