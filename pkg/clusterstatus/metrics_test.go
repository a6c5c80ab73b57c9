package clusterstatus_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/binnacle-dev/binnacle/pkg/clusterstatus"
)

// gathered is the metrics of the view, by name and phase.
func gathered(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	ours := map[string]bool{"binnacle_clusters": true, "binnacle_hub_suspect": true, "binnacle_view_log_events": true, "binnacle_view_watchers": true,
		"binnacle_view_watchers_ended_total": true, "binnacle_view_clock_ahead_seconds": true}
	got := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			name := family.GetName()
			if name == "binnacle_view_log_bytes" && m.GetGauge().GetValue() <= 0 {
				t.Errorf("the log takes %v bytes", m.GetGauge().GetValue())
			}
			if !ours[name] {
				continue
			}
			for _, label := range m.GetLabel() {
				name += " " + label.GetValue()
			}
			got[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return got
}

// TestMetrics follows a small fleet through its phases.
func TestMetrics(t *testing.T) {
	h := newHub(t)
	idle := h.newEngine()
	idle.stop()
	clusterstatus.RegisterMetrics(idle.engine)
	r := h.newEngine()
	clusterstatus.RegisterMetrics(r.engine)
	h.eventually("the view to be loaded", func() bool { return r.engine.Check() == nil })
	want := map[string]float64{
		"binnacle_clusters Ready": 0, "binnacle_clusters NotReady": 0, "binnacle_clusters Unreachable": 0, "binnacle_clusters Unknown": 0,
		"binnacle_hub_suspect": 0, "binnacle_view_log_events": 0, "binnacle_view_watchers": 0, "binnacle_view_watchers_ended_total": 0,
		"binnacle_view_clock_ahead_seconds": 0,
	}
	expect := func(when string, changes map[string]float64) {
		t.Helper()
		if _, err := r.engine.Barrier(t.Context()); err != nil {
			t.Fatal(err)
		}
		maps.Copy(want, changes)
		if diff := cmp.Diff(want, gathered(t)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	for n := range 4 {
		h.register(fmt.Sprint("c", n), 1)
	}
	expect("registered", map[string]float64{"binnacle_clusters Unknown": 4, "binnacle_view_log_events": 4})
	for n := range 4 {
		r.report(h.register(fmt.Sprint("c", n), 1), "v1")
	}
	r.publish()
	w := r.watch("")
	expect("reported", map[string]float64{"binnacle_clusters Unknown": 0, "binnacle_clusters Ready": 4, "binnacle_view_log_events": 8, "binnacle_view_watchers": 1})
	w.Stop()
	h.eventually("the watch to end", func() bool { return gathered(t)["binnacle_view_watchers"] == 0 })
	h.wall.Step(40 * time.Second)
	// The first publication after a time in which none could arrive begins the grace period anew.
	r.report(h.register("c0", 1), "v1")
	r.publish()
	h.wall.Step(14 * time.Second)
	r.report(h.register("c0", 1), "v1")
	r.publish()
	h.wall.Step(14 * time.Second)
	r.report(h.register("c0", 1), "v1")
	r.publish()
	h.wall.Step(14 * time.Second)
	r.report(h.register("c0", 1), "v1")
	r.publish()
	got := gathered(t)
	delete(want, "binnacle_view_log_events")
	delete(got, "binnacle_view_log_events")
	maps.Copy(want, map[string]float64{"binnacle_clusters Ready": 1, "binnacle_clusters Unreachable": 3, "binnacle_hub_suspect": 1, "binnacle_view_watchers": 0})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("silent (-want +got):\n%s", diff)
	}
	// The time of another replica is ahead.
	r.engine.Clock.Observe(h.wall.Now().Add(time.Minute).UnixMilli())
	if ahead := gathered(t)["binnacle_view_clock_ahead_seconds"]; ahead != 60 {
		t.Errorf("%v s ahead", ahead)
	}
}

// TestMetricsBeforeTheViewIsLoaded says nothing, rather than that there are no clusters.
func TestMetricsBeforeTheViewIsLoaded(t *testing.T) {
	h := newHub(t)
	h.stopEtcd()
	r := h.newEngine()
	clusterstatus.RegisterMetrics(r.engine)
	if got := gathered(t); len(got) > 0 {
		t.Errorf("%v", got)
	}
}
