package clusterstatus

import (
	"sync"
	"sync/atomic"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

func desc(name, help string, labels ...string) *metrics.Desc {
	return metrics.NewDesc("binnacle_"+name, help, labels, nil, metrics.ALPHA, "")
}

var (
	clustersDesc = desc("clusters", "Clusters in the view, by phase.", "phase")
	suspectDesc  = desc("hub_suspect", "1 while so many clusters fell silent at once that the hub, or the way to it, is suspect.")
	eventsDesc   = desc("view_log_events", "Events in the log that watchers of the view are served from.")
	bytesDesc    = desc("view_log_bytes", "About how much memory the events of the log take.")
	watchersDesc = desc("view_watchers", "Watches of ClusterStatus that are open.")
	tooSlowDesc  = desc("view_watchers_ended_total", "Watches of ClusterStatus that were ended because their readers fell behind the log.")
	aheadDesc    = desc("view_clock_ahead_seconds", "By how much the clock of the view, which follows the fastest replica, is ahead of this machine's.")
)

// collector looks at the view each time that the metrics are read. The registry of metrics belongs to the process.
type collector struct {
	metrics.BaseStableCollector
	engine atomic.Pointer[Engine]
}

var (
	observed = &collector{}
	register sync.Once
)

// RegisterMetrics makes the metrics of the view known.
func RegisterMetrics(e *Engine) {
	observed.engine.Store(e)
	register.Do(func() { legacyregistry.CustomMustRegister(observed) })
}

// DescribeWithStability implements metrics.StableCollector.
func (c *collector) DescribeWithStability(ch chan<- *metrics.Desc) {
	for _, d := range []*metrics.Desc{clustersDesc, suspectDesc, eventsDesc, bytesDesc, watchersDesc, tooSlowDesc, aheadDesc} {
		ch <- d
	}
}

// CollectWithStability implements metrics.StableCollector.
func (c *collector) CollectWithStability(ch chan<- metrics.Metric) {
	e := c.engine.Load()
	if e == nil || e.Check() != nil {
		return
	}
	phases, suspect := e.phases()
	for _, phase := range []binnacle.ClusterPhase{binnacle.ClusterReady, binnacle.ClusterNotReady, binnacle.ClusterUnreachable, binnacle.ClusterUnknown} {
		ch <- metrics.NewLazyConstMetric(clustersDesc, metrics.GaugeValue, float64(phases[phase]), string(phase))
	}
	stats := e.Log.Stats()
	for d, value := range map[*metrics.Desc]float64{
		suspectDesc: suspect, eventsDesc: float64(stats.Events), bytesDesc: float64(stats.Bytes), watchersDesc: float64(stats.Watchers),
		aheadDesc: e.Clock.Ahead().Seconds(),
	} {
		ch <- metrics.NewLazyConstMetric(d, metrics.GaugeValue, value)
	}
	ch <- metrics.NewLazyConstMetric(tooSlowDesc, metrics.CounterValue, float64(stats.TooSlow))
}

// phases counts the clusters, and says whether a mass of them is silent.
func (e *Engine) phases() (map[binnacle.ClusterPhase]int, float64) {
	e.mu.RLock()
	clusters := make([]string, 0, len(e.model.profiles))
	for cluster := range e.model.profiles {
		clusters = append(clusters, cluster)
	}
	suspect := 0.0
	if e.model.state.Head.SuspectFrom != 0 {
		suspect = 1
	}
	e.mu.RUnlock()
	counts := map[binnacle.ClusterPhase]int{}
	for _, cluster := range clusters {
		if object := e.Log.Get(cluster); object != nil {
			counts[object.Status.Phase]++
		}
	}
	return counts, suspect
}
