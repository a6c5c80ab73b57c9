package rollout

import (
	"context"
	"sync"
	"sync/atomic"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	planner "github.com/binnacle-dev/binnacle/pkg/rollout"
)

var (
	rolloutsDesc = metrics.NewDesc("binnacle_rollouts", "Rollouts, by phase.", []string{"phase"}, nil, metrics.ALPHA, "")
	heldDesc     = metrics.NewDesc("binnacle_rollout_held_clusters", "Clusters that unfinished rollouts keep back, since they do not report.",
		nil, nil, metrics.ALPHA, "")
	transitions = metrics.NewCounterVec(&metrics.CounterOpts{
		Namespace: "binnacle", Name: "rollout_transitions_total", StabilityLevel: metrics.ALPHA,
		Help: "What moved rollouts on this replica, by verb: the subresource that was called, or step, join, leave, stop and complete of the server itself.",
	}, []string{"verb"})

	observed = &collector{}
	register = sync.OnceFunc(func() {
		legacyregistry.CustomMustRegister(observed)
		legacyregistry.MustRegister(transitions)
		for _, verb := range binnacle.RolloutVerbs {
			if verb != binnacle.VerbFeedback { // It is no transition by itself.
				transitions.WithLabelValues(string(verb))
			}
		}
		for _, verb := range []string{"step", "join", "leave", "stop", "complete"} {
			transitions.WithLabelValues(verb)
		}
	})
)

// collector counts the Rollouts in this replica's cache each time that the metrics are read. The registry of metrics belongs to the process.
type collector struct {
	metrics.BaseStableCollector
	mover atomic.Pointer[Mover]
}

// RegisterMetrics makes the metrics of the Rollouts known.
func RegisterMetrics(m *Mover) {
	observed.mover.Store(m)
	register()
}

// DescribeWithStability implements metrics.StableCollector.
func (*collector) DescribeWithStability(ch chan<- *metrics.Desc) { ch <- rolloutsDesc; ch <- heldDesc }

// CollectWithStability implements metrics.StableCollector. Before the cache is filled there is nothing to say.
func (c *collector) CollectWithStability(ch chan<- metrics.Metric) {
	m := c.mover.Load()
	if m == nil {
		return
	}
	list, err := m.rollouts.List(request.WithNamespace(context.Background(), metav1.NamespaceAll), &metainternalversion.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return
	}
	counts, held := map[binnacle.RolloutPhase]int{}, int32(0)
	for i := range list.(*binnacle.RolloutList).Items {
		status := &list.(*binnacle.RolloutList).Items[i].Status
		counts[status.Phase]++
		if !status.Phase.Finished() {
			held += status.Counts.Held
		}
	}
	for _, phase := range planner.Phases {
		ch <- metrics.NewLazyConstMetric(rolloutsDesc, metrics.GaugeValue, float64(counts[phase]), string(phase))
	}
	ch <- metrics.NewLazyConstMetric(heldDesc, metrics.GaugeValue, float64(held))
}
