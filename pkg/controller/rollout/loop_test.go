package rollout_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/component-base/metrics/legacyregistry"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/binnacle-dev/binnacle/pkg/controller/rollout"
)

var began = time.Unix(1_800_000_000, 0)

// alone is a holder whose clock the test moves.
func alone(t *testing.T) (*hub, *replica, *clocktesting.FakeClock) {
	t.Helper()
	h, wall := newHub(t), clocktesting.NewFakeClock(began)
	h.rollouts.clock = wall
	r := h.start("a", wall)
	h.eventually("a to hold the lease", h.holds("a"))
	h.eventually("a to know it", h.rollouts.listed("a", 2))
	return h, r, wall
}

// TestExactTimes wants a tick at the moment that the last one named, and none before.
func TestExactTimes(t *testing.T) {
	h, a, wall := alone(t)
	// Not listed, so that no resync ticks it.
	due := map[int]time.Duration{0: 1500 * time.Millisecond, 1: time.Minute, 2: 7 * 24 * time.Hour}
	h.rollouts.set(func(r *rollouts) {
		n := 0
		r.next = func(name string) time.Time {
			if name != "x" || due[n] == 0 {
				return time.Time{}
			}
			n++
			return wall.Now().Add(due[n-1])
		}
	})
	waiting := wall.Waiters()
	a.Enqueue("fleet", "x")
	want := []time.Time{began}
	for i := range len(due) {
		h.eventually("x to wait", func() bool { return h.rollouts.count("a", "x") == i+1 && wall.Waiters() > waiting })
		wall.Step(due[i] - time.Nanosecond)
		a.Enqueue("fleet", fmt.Sprint("other-", i))
		h.eventually("another to be ticked", func() bool { return h.rollouts.count("a", fmt.Sprint("other-", i)) > 0 })
		if n := h.rollouts.count("a", "x"); n != i+1 {
			t.Fatalf("tick %d came before its time", n)
		}
		wall.Step(time.Nanosecond)
		want = append(want, want[i].Add(due[i]))
		h.eventually("x to be ticked", func() bool { return h.rollouts.count("a", "x") == i+2 })
	}
	var got []time.Time
	for _, tick := range h.rollouts.done {
		if tick.name == "x" {
			got = append(got, tick.at)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestClockJumps sets the clock of the machine on by a day: everything that is due is ticked once.
func TestClockJumps(t *testing.T) {
	h, a, wall := alone(t)
	h.rollouts.set(func(r *rollouts) {
		r.next = func(name string) time.Time {
			if wall.Since(began) < time.Hour {
				return began.Add(24 * time.Hour)
			}
			return time.Time{}
		}
	})
	waiting := wall.Waiters()
	for _, name := range []string{"x", "y"} {
		a.Enqueue("fleet", name)
		h.eventually(name+" to be ticked", func() bool { return h.rollouts.count("a", name) == 1 })
	}
	h.eventually("both to wait", func() bool { return wall.Waiters() > waiting })
	wall.SetTime(began.Add(25 * time.Hour))
	h.eventually("both to be ticked", func() bool {
		wall.Step(100 * time.Millisecond) // One of them may have asked for its time just now.
		return h.rollouts.count("a", "x") == 2 && h.rollouts.count("a", "y") == 2
	})
}

// TestDueAtOnce lets others have their turn where one is always due.
func TestDueAtOnce(t *testing.T) {
	h, a, wall := alone(t)
	h.rollouts.set(func(r *rollouts) { r.next = func(string) time.Time { return wall.Now() } })
	waiting := wall.Waiters()
	a.Enqueue("fleet", "x")
	for i := range 5 {
		h.eventually("x to wait", func() bool { return h.rollouts.count("a", "x") == i+1 && wall.Waiters() > waiting })
		wall.Step(100 * time.Millisecond)
	}
}

// TestRetries wants a rollout whose tick fails to be tried again after twice the time each time, up to a bound, whatever is resynced, and
// at once when it was written.
func TestRetries(t *testing.T) {
	h, a, wall := alone(t)
	h.rollouts.set(func(r *rollouts) {
		r.unfinished = []string{"x"}
		r.fails = func(_, name string) error {
			if name == "x" {
				return errNotYet
			}
			return nil
		}
	})
	waiting := wall.Waiters()
	a.Enqueue("fleet", "x")
	want := 100 * time.Millisecond
	for i := range 12 {
		h.eventually("x to wait", func() bool { return h.rollouts.count("a", "x") == i+1 && wall.Waiters() > waiting })
		wall.Step(want - time.Nanosecond)
		a.Enqueue("fleet", fmt.Sprint("other-", i))
		h.eventually("another to be ticked", func() bool { return h.rollouts.count("a", fmt.Sprint("other-", i)) > 0 })
		if n := h.rollouts.count("a", "x"); n != i+1 {
			t.Fatalf("try %d came before %v had passed", n, want)
		}
		wall.Step(time.Nanosecond)
		h.eventually("x to be tried", func() bool { return h.rollouts.count("a", "x") == i+2 })
		want = min(2*want, rollout.LastRetry)
	}
	had := h.rollouts.count("a", "x")
	a.Enqueue("fleet", "x")
	h.eventually("x to be tried at once", func() bool { return h.rollouts.count("a", "x") > had })
}

// TestRepairAtStart wants every replica to tick what is unfinished once, though another holds the lease, and to try again what fails.
func TestRepairAtStart(t *testing.T) {
	h := newHub(t)
	h.start("a", nil)
	h.eventually("a to hold the lease", h.holds("a"))
	tries := 0
	h.rollouts.set(func(r *rollouts) {
		r.unfinished = []string{"broken", "whole"}
		r.fails = func(replica, name string) error {
			if replica == "b" && name == "broken" && tries < 3 {
				tries++
				return errNotYet
			}
			return nil
		}
	})
	b := h.start("b", nil)
	h.within(5*time.Second, "b to repair", func() bool { return h.rollouts.count("b", "broken") == 4 && h.rollouts.count("b", "whole") == 1 })
	before := h.rollouts.count("a", "whole")
	b.Enqueue("fleet", "whole")
	h.eventually("a resync", func() bool { return h.rollouts.count("a", "whole") > before })
	if n, m := h.rollouts.count("b", "broken"), h.rollouts.count("b", "whole"); n != 4 || m != 1 {
		t.Errorf("b, which does not hold the lease, ticked %d and %d times", n, m)
	}
}

// TestSuccession wants what is due soon after the holder crashed to be done on time by a replica that starts, though the lease lasts.
func TestSuccession(t *testing.T) {
	h := newHub(t)
	a := h.start("a", nil)
	h.eventually("a to hold the lease", h.holds("a"))
	a.closed.Lock()
	t.Cleanup(a.closed.Unlock)
	due := time.Now().Add(time.Second)
	h.rollouts.set(func(r *rollouts) {
		r.unfinished = []string{"soon", "late"}
		r.next = func(name string) time.Time {
			switch {
			case name == "late":
				return due.Add(time.Hour)
			case time.Now().Before(due):
				return due
			}
			return time.Time{}
		}
	})
	h.start("b", nil)
	h.within(2*time.Second, "b to do what is due", func() bool { return h.rollouts.count("b", "soon") == 2 })
	if late := time.Since(due); late < 0 || !h.holds("a")() {
		t.Errorf("it was done %s after it was due, and a holds the lease: %v", late, h.holds("a")())
	}
	if n := h.rollouts.count("b", "late"); n != 1 {
		t.Errorf("what is not due was ticked %d times", n)
	}
}

// TestMetrics counts what a holder does.
func TestMetrics(t *testing.T) {
	h, a, _ := alone(t)
	ours := func() map[string]float64 {
		families, err := legacyregistry.DefaultGatherer.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, family := range families {
			for _, m := range family.GetMetric() {
				switch name := family.GetName(); name {
				case "binnacle_rollout_loop_holder", "binnacle_rollout_ticks_total", "binnacle_rollout_tick_errors_total", "binnacle_rollout_tick_duration_seconds":
					got[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
				case "workqueue_adds_total":
					for _, label := range m.GetLabel() {
						if label.GetValue() == "rollouts" {
							got[name] = m.GetCounter().GetValue()
						}
					}
				}
			}
		}
		return got
	}
	h.rollouts.set(func(r *rollouts) {
		r.fails = func(_, name string) error { return map[string]error{"x": errNotYet}[name] }
	})
	before := ours()
	for _, name := range []string{"x", "y"} {
		a.Enqueue("fleet", name)
		h.eventually(name+" to be ticked", func() bool { return h.rollouts.count("a", name) == 1 })
	}
	want := map[string]float64{"binnacle_rollout_loop_holder": 1, "binnacle_rollout_ticks_total": 2, "binnacle_rollout_tick_errors_total": 1,
		"binnacle_rollout_tick_duration_seconds": 2, "workqueue_adds_total": 2}
	change := func() map[string]float64 {
		got := ours()
		for name := range got {
			if name != "binnacle_rollout_loop_holder" {
				got[name] -= before[name]
			}
		}
		return got
	}
	h.eventually("all to be counted", func() bool { return change()["binnacle_rollout_ticks_total"] == 2 })
	if diff := cmp.Diff(want, change()); diff != "" {
		t.Error(diff)
	}
	a.stop()
	if got := ours()["binnacle_rollout_loop_holder"]; got != 0 {
		t.Errorf("after it ended, the holder is %v", got)
	}
}
