package rollout

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/workqueue" // for the metrics of the queue
	"k8s.io/klog/v2"
)

const namespace = "binnacle"

var (
	holder = metrics.NewGauge(&metrics.GaugeOpts{
		Namespace: namespace, Name: "rollout_loop_holder", Help: "1 on the replica that moves the rollouts, 0 on the others.", StabilityLevel: metrics.ALPHA,
	})
	ticks = metrics.NewCounter(&metrics.CounterOpts{
		Namespace: namespace, Name: "rollout_ticks_total", Help: "Rollouts that this replica looked at for what is due.", StabilityLevel: metrics.ALPHA,
	})
	tickErrors = metrics.NewCounter(&metrics.CounterOpts{
		Namespace: namespace, Name: "rollout_tick_errors_total", Help: "Ticks of rollouts that failed; they are tried again.", StabilityLevel: metrics.ALPHA,
	})
	tickDuration = metrics.NewHistogram(&metrics.HistogramOpts{
		Namespace: namespace, Name: "rollout_tick_duration_seconds", Help: "How long a tick of a rollout took, with the slices that it wrote.",
		Buckets: []float64{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30}, StabilityLevel: metrics.ALPHA,
	})

	registerMetrics = sync.OnceFunc(func() { legacyregistry.MustRegister(holder, ticks, tickErrors, tickDuration) })
)

// tick ticks a rollout and counts it.
func (l *Loop) tick(ctx context.Context, key types.NamespacedName) (time.Time, error) {
	patient, cancel := context.WithTimeout(ctx, tickPatience)
	defer cancel()
	started := time.Now()
	next, err := l.Rollouts.Tick(patient, key.Namespace, key.Name)
	tickDuration.Observe(time.Since(started).Seconds())
	ticks.Inc()
	if err != nil && ctx.Err() == nil { // Otherwise it was told to end.
		tickErrors.Inc()
		klog.FromContext(ctx).Error(err, "A rollout cannot be moved; it is tried again", "rollout", key, "failures", l.queue.NumRequeues(key)+1)
	}
	return next, err
}
