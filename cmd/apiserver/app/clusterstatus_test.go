package app

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestClusterStatusFlags walks the limits of each flag: at the limit it is accepted, and past it refused with its name.
func TestClusterStatusFlags(t *testing.T) {
	const beat = time.Millisecond
	type options = clusterStatusOptions
	durations := []struct {
		flag        string
		of          func(*options) *time.Duration
		least, most time.Duration
	}{
		{"cluster-report-interval", func(o *options) *time.Duration { return &o.ReportInterval }, time.Second, time.Hour},
		{"cluster-report-publish-interval", func(o *options) *time.Duration { return &o.PublishInterval }, 100 * beat, 10 * time.Second},
		{"cluster-grace-period", func(o *options) *time.Duration { return &o.GracePeriod }, 11 * time.Second, 24 * time.Hour},
		{"cluster-last-report-grain", func(o *options) *time.Duration { return &o.LastReportGrain }, time.Second, 24 * time.Hour},
		{"cluster-reporter-cache-ttl", func(o *options) *time.Duration { return &o.ReporterTTL }, 0, 24 * time.Hour},
	}
	numbers := []struct {
		flag        string
		of          func(*options) *int
		least, most int
	}{
		{"cluster-reports-per-second", func(o *options) *int { return &o.ReportsPerSecond }, 1, 1_000_000},
		{"cluster-grace-intervals", func(o *options) *int { return &o.GraceIntervals }, 1, 1000},
		{"cluster-mass-silence-percent", func(o *options) *int { return &o.MassSilencePercent }, 1, 100},
		{"cluster-status-history-events", func(o *options) *int { return &o.HistoryEvents }, 1000, 10_000_000},
		{"cluster-status-history-mib", func(o *options) *int { return &o.HistoryMiB }, 1, 1 << 20},
	}
	check := func(flag, value string, good bool, set func(*options)) {
		t.Helper()
		o := newClusterStatusOptions()
		set(&o)
		errs := o.validate()
		if good && len(errs) > 0 || !good && (len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), "--"+flag+": ") || !strings.Contains(errs[0].Error(), value)) {
			t.Errorf("--%s=%s: %v", flag, value, errs)
		}
	}
	for _, d := range durations {
		for value, good := range map[time.Duration]bool{d.least - beat: false, d.least: true, d.most: true, d.most + beat: false} {
			check(d.flag, value.String(), good, func(o *options) { *d.of(o) = value })
		}
	}
	for _, n := range numbers {
		for value, good := range map[int]bool{n.least - 1: false, n.least: true, n.most: true, n.most + 1: false} {
			check(n.flag, fmt.Sprint(value), good, func(o *options) { *n.of(o) = value })
		}
	}
}

// TestClusterStatusFlagsAreAllChecked fails where a flag was added that TestClusterStatusFlags does not know.
func TestClusterStatusFlagsAreAllChecked(t *testing.T) {
	var zero clusterStatusOptions
	if errs := zero.validate(); len(errs) != 9 { // The time of what is remembered may be 0.
		t.Errorf("%d flags are refused when all are 0: %v", len(errs), errs)
	}
	if errs := newOptions(t).ClusterStatus.validate(); len(errs) > 0 {
		t.Errorf("the defaults are refused: %v", errs)
	}
}

// TestClusterStatusConfig says where each flag goes.
func TestClusterStatusConfig(t *testing.T) {
	c := parse(t, "--cluster-report-interval=11s", "--cluster-report-publish-interval=300ms", "--cluster-reports-per-second=7", "--cluster-grace-period=1m1s",
		"--cluster-grace-intervals=4", "--cluster-last-report-grain=2m", "--cluster-mass-silence-percent=40", "--cluster-reporter-cache-ttl=9m",
		"--cluster-status-history-events=2000", "--cluster-status-history-mib=3").clusterStatusConfig()
	got := fmt.Sprint(c.Reports, c.PublishInterval, c.Parameters.GraceSeconds, c.Parameters.GraceIntervals, c.Parameters.GrainSeconds,
		c.Parameters.SuspectPercent, c.ReporterTTL, c.History)
	if want := "{11s 7} 300ms 61 4 120 40 9m0s {2000 3145728}"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
