package rollout

import (
	"strings"
	"testing"

	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/component-base/metrics/testutil"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

func TestMetricsOfRollouts(t *testing.T) {
	w := newWorld(t, 4)
	RegisterMetrics(w.mover)
	moved := func(verb string) float64 {
		n, err := testutil.GetCounterMetricValue(transitions.WithLabelValues(verb))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	advances, aborts := moved("advance"), moved("abort")
	w.view.set("c1", binnacle.ClusterUnreachable)
	w.start(nil, 75, 100)
	w.act(binnacle.VerbPause)
	if advances, aborts = moved("advance")-advances, moved("abort")-aborts; advances != 1 || aborts != 0 {
		t.Errorf("%v advances and %v aborts are counted", advances, aborts)
	}
	want := `
# HELP binnacle_rollout_held_clusters [ALPHA] Clusters that unfinished rollouts keep back, since they do not report.
# TYPE binnacle_rollout_held_clusters gauge
binnacle_rollout_held_clusters 1
# HELP binnacle_rollouts [ALPHA] Rollouts, by phase.
# TYPE binnacle_rollouts gauge
binnacle_rollouts{phase="Aborted"} 0
binnacle_rollouts{phase="Completed"} 0
binnacle_rollouts{phase="Paused"} 1
binnacle_rollouts{phase="Pending"} 0
binnacle_rollouts{phase="Progressing"} 0
binnacle_rollouts{phase="RolledBack"} 0
binnacle_rollouts{phase="Stopped"} 0
`
	if err := testutil.GatherAndCompare(legacyregistry.DefaultGatherer, strings.NewReader(want), "binnacle_rollouts", "binnacle_rollout_held_clusters"); err != nil {
		t.Error(err)
	}
}
