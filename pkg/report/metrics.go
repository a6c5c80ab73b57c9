package report

import (
	"sync"
	"sync/atomic"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// Why a report is refused.
const (
	reasonTooOften = "too_often"
	reasonOverload = "overload"
	// ReasonInvalid and the others are those that the REST storage finds.
	ReasonInvalid     = "invalid"
	ReasonTooLarge    = "too_large"
	ReasonNoProfile   = "no_profile"
	ReasonOtherUID    = "other_uid"
	ReasonDenied      = "denied"
	ReasonUnavailable = "unavailable"
)

const (
	pageHead  = "head"
	pageFacts = "facts"
	pageSeen  = "seen"
)

const namespace = "binnacle"

func counter(name, help string) *metrics.Counter {
	return metrics.NewCounter(&metrics.CounterOpts{Namespace: namespace, Name: name, Help: help, StabilityLevel: metrics.ALPHA})
}

func counters(name, help string, labels ...string) *metrics.CounterVec {
	return metrics.NewCounterVec(&metrics.CounterOpts{Namespace: namespace, Name: name, Help: help, StabilityLevel: metrics.ALPHA}, labels)
}

var (
	accepted         = counter("reports_accepted_total", "Reports of clusters that were accepted.")
	refused          = counters("reports_refused_total", "Reports of clusters that were refused, by reason.", "reason")
	pagesWritten     = counters("report_pages_written_total", "Pages of reports written to etcd, by kind.", "page")
	pageBytes        = counters("report_page_bytes_total", "Bytes of keys and values of pages of reports written to etcd, by kind.", "page")
	publishErrors    = counter("report_publish_errors_total", "Publications of reports that failed.")
	publishConflicts = counter("report_publish_conflicts_total", "Publications of reports that another replica came before, and that were planned anew.")
	silenced         = counter("clusters_silenced_total", "Clusters that this replica found to be silent for longer than the grace period.")
	returned         = counter("clusters_returned_total", "Clusters that this replica found to report again after a silence.")
	publishDuration  = metrics.NewHistogram(&metrics.HistogramOpts{
		Namespace: namespace, Name: "report_publish_duration_seconds", Help: "How long a publication of reports took, until the view had it.",
		Buckets: []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}, StabilityLevel: metrics.ALPHA,
	})
)

var (
	// observed is the table that the gauge looks at: the registry of metrics belongs to the process, which may begin again with another.
	observed atomic.Pointer[Table]
	register sync.Once
)

// RegisterMetrics makes the metrics of this package known, and that of the table's oldest report.
func RegisterMetrics(table *Table) {
	observed.Store(table)
	register.Do(func() {
		legacyregistry.MustRegister(accepted, refused, pagesWritten, pageBytes, publishErrors, publishConflicts, silenced, returned, publishDuration)
		legacyregistry.RawMustRegister(metrics.NewGaugeFunc(&metrics.GaugeOpts{
			Namespace: namespace, Name: "report_oldest_unpublished_seconds",
			Help: "Age of the oldest report that this replica has not published yet, 0 where all are.", StabilityLevel: metrics.ALPHA,
		}, func() float64 { return observed.Load().Oldest().Seconds() }))
	})
}

// Refused counts a report that was refused before it came to a table.
func Refused(reason string) { refused.WithLabelValues(reason).Inc() }
