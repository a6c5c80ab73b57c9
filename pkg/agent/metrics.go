package agent

import (
	"strconv"
	"time"

	"k8s.io/component-base/metrics"
)

// noAnswer is the code of a report that the hub did not answer.
const noAnswer = "none"

// Metrics are what the agent tells of itself.
type Metrics struct {
	reports     *metrics.CounterVec
	lastSuccess *metrics.Gauge
	next        *metrics.Gauge
	interval    *metrics.Gauge
	omitted     *metrics.Gauge
}

// NewMetrics returns metrics that are in no registry yet.
func NewMetrics() *Metrics {
	gauge := func(name, help string) *metrics.Gauge {
		return metrics.NewGauge(&metrics.GaugeOpts{Name: name, Help: help, StabilityLevel: metrics.ALPHA})
	}
	return &Metrics{
		reports: metrics.NewCounterVec(&metrics.CounterOpts{
			Name: "binnacle_agent_reports_total", StabilityLevel: metrics.ALPHA,
			Help: "Reports that were sent to the hub, by the status code of the answer, or none.",
		}, []string{"code"}),
		lastSuccess: gauge("binnacle_agent_last_success_timestamp_seconds", "When the hub took a report last, in seconds since 1970; 0 before the first."),
		next:        gauge("binnacle_agent_next_report_seconds", "In how many seconds the next report was due when the last one was answered."),
		interval:    gauge("binnacle_agent_interval_seconds", "Time between reports that the hub asked for last."),
		omitted:     gauge("binnacle_agent_properties_omitted", "Properties that are not reported because a report may not have them: too long, or too many."),
	}
}

// Register puts the metrics into a registry, by its own register.
func (m *Metrics) Register(register func(metrics.Registerable) error) error {
	for _, one := range []metrics.Registerable{m.reports, m.lastSuccess, m.next, m.interval, m.omitted} {
		if err := register(one); err != nil {
			return err
		}
	}
	return nil
}

func (m *Metrics) answered(o outcome, err error, next, interval time.Duration, now time.Time) {
	code := noAnswer
	if o.code != 0 {
		code = strconv.Itoa(o.code)
	}
	m.reports.WithLabelValues(code).Inc()
	if err == nil {
		m.lastSuccess.Set(float64(now.UnixMilli()) / 1000)
	}
	m.next.Set(next.Seconds())
	m.interval.Set(interval.Seconds())
}
