package app

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	pagesv1 "github.com/binnacle-dev/binnacle/pkg/apis/pages/v1"
	"github.com/binnacle-dev/binnacle/pkg/apiserver"
	"github.com/binnacle-dev/binnacle/pkg/clusterstatus/viewlog"
	"github.com/binnacle-dev/binnacle/pkg/report"
)

// clusterStatusOptions say how reports are taken, and how the view of the clusters is computed from them.
type clusterStatusOptions struct {
	ReportInterval     time.Duration
	PublishInterval    time.Duration
	ReportsPerSecond   int
	GracePeriod        time.Duration
	GraceIntervals     int
	LastReportGrain    time.Duration
	MassSilencePercent int
	ReporterTTL        time.Duration
	HistoryEvents      int
	HistoryMiB         int
}

func newClusterStatusOptions() clusterStatusOptions {
	return clusterStatusOptions{
		ReportInterval: 10 * time.Second, PublishInterval: 5 * time.Second, ReportsPerSecond: 2000,
		GracePeriod: 30 * time.Second, GraceIntervals: 3, LastReportGrain: 5 * time.Minute, MassSilencePercent: 30,
		ReporterTTL: 5 * time.Minute, HistoryEvents: 50_000, HistoryMiB: 128,
	}
}

func (o *clusterStatusOptions) addFlags(flags *pflag.FlagSet) {
	flags.DurationVar(&o.ReportInterval, "cluster-report-interval", o.ReportInterval, ""+
		"After how long a cluster that has no wish of its own is asked to report again, 1s to 1h.")
	flags.DurationVar(&o.PublishInterval, "cluster-report-publish-interval", o.PublishInterval, ""+
		"How often this server writes the reports that arrived to etcd, 100ms to 10s: how old a fact may be before every watcher has it, against writes.")
	flags.IntVar(&o.ReportsPerSecond, "cluster-reports-per-second", o.ReportsPerSecond, ""+
		"How many reports a second this server takes from all clusters together. Before there are more, it asks all clusters to report less often; what is above is answered 429.")
	flags.DurationVar(&o.GracePeriod, "cluster-grace-period", o.GracePeriod, ""+
		"How long a cluster may be silent at least before it is Unreachable. One of the parameters that all servers share: that of the server that started last counts.")
	flags.IntVar(&o.GraceIntervals, "cluster-grace-intervals", o.GraceIntervals, ""+
		"How many of its report intervals a cluster may be silent before it is Unreachable, if that is longer than --cluster-grace-period. Shared by all servers.")
	flags.DurationVar(&o.LastReportGrain, "cluster-last-report-grain", o.LastReportGrain, ""+
		"To what lastReportTime of a ClusterStatus is cut down: each change of it is an event for every watcher. Shared by all servers.")
	flags.IntVar(&o.MassSilencePercent, "cluster-mass-silence-percent", o.MassSilencePercent, ""+
		"Share of the clusters above which silence at once makes the hub suspect (condition HubSuspect), 1 to 100. Shared by all servers.")
	flags.DurationVar(&o.ReporterTTL, "cluster-reporter-cache-ttl", o.ReporterTTL, ""+
		"How long it is remembered that somebody may report for a cluster, and whom a reporter's token stands for: until then, and for the time that any answer of the hub is remembered (--authorization-webhook-cache-authorized-ttl), a withdrawn right or token still reports. 0 asks as often as for any other request.")
	flags.IntVar(&o.HistoryEvents, "cluster-status-history-events", o.HistoryEvents, ""+
		"How many changes of ClusterStatus are kept in memory for watchers. A watcher that falls behind them lists again.")
	flags.IntVar(&o.HistoryMiB, "cluster-status-history-mib", o.HistoryMiB, ""+
		"About how much memory the changes that are kept for watchers take at most, in MiB.")
}

func (o *clusterStatusOptions) validate() []error {
	var errs []error
	within := func(flag string, value, least, most time.Duration) {
		if value < least || value > most {
			errs = append(errs, fmt.Errorf("--%s: %s is not within %s and %s", flag, value, least, most))
		}
	}
	whole := func(flag string, value time.Duration) {
		if value%time.Second != 0 {
			errs = append(errs, fmt.Errorf("--%s: %s is no whole number of seconds", flag, value))
		}
	}
	number := func(flag string, value, least, most int) {
		if value < least || value > most {
			errs = append(errs, fmt.Errorf("--%s: %d is not within %d and %d", flag, value, least, most))
		}
	}
	within("cluster-report-interval", o.ReportInterval, time.Second, time.Hour)
	within("cluster-report-publish-interval", o.PublishInterval, 100*time.Millisecond, 10*time.Second)
	within("cluster-grace-period", o.GracePeriod, time.Second, 24*time.Hour)
	within("cluster-last-report-grain", o.LastReportGrain, time.Second, 24*time.Hour)
	within("cluster-reporter-cache-ttl", o.ReporterTTL, 0, 24*time.Hour)
	number("cluster-reports-per-second", o.ReportsPerSecond, 1, 1_000_000)
	number("cluster-grace-intervals", o.GraceIntervals, 1, 1000)
	number("cluster-mass-silence-percent", o.MassSilencePercent, 1, 100)
	number("cluster-status-history-events", o.HistoryEvents, 1000, 10_000_000)
	number("cluster-status-history-mib", o.HistoryMiB, 1, 1<<20)
	if len(errs) > 0 {
		return errs
	}
	if least := 2*o.PublishInterval + time.Second; o.GracePeriod < least {
		errs = append(errs, fmt.Errorf("--cluster-grace-period: %s is less than %s, which is two times --cluster-report-publish-interval and a second: "+
			"a report that another server has not written yet would look like silence", o.GracePeriod, least))
	} else {
		whole("cluster-grace-period", o.GracePeriod)
	}
	whole("cluster-last-report-grain", o.LastReportGrain)
	return errs
}

// config is what the server is made of. Etcd has to be known by then.
func (o *Options) clusterStatusConfig() apiserver.ClusterStatusConfig {
	own := o.ClusterStatus
	return apiserver.ClusterStatusConfig{
		Etcd: o.Recommended.Etcd.StorageConfig.Transport, Prefix: o.Recommended.Etcd.StorageConfig.Prefix,
		Parameters: pagesv1.Parameters{
			GraceSeconds: int64(own.GracePeriod.Seconds()), GraceIntervals: int64(own.GraceIntervals),
			GrainSeconds: int64(own.LastReportGrain.Seconds()), SuspectPercent: int64(own.MassSilencePercent),
		},
		Reports:         report.Limits{Interval: own.ReportInterval, PerSecond: own.ReportsPerSecond},
		PublishInterval: own.PublishInterval,
		History:         viewlog.Limits{Events: own.HistoryEvents, Bytes: int64(own.HistoryMiB) << 20},
		ReporterTTL:     own.ReporterTTL,
	}
}
