package rollout_test

import (
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/binnacle-dev/binnacle/pkg/controller/rollout"
)

// ttl is that of the lease.
const ttl = 5 * time.Second

// TestHandOver has the holder end: another holds the lease at once, not when it would have run out.
func TestHandOver(t *testing.T) {
	h := newHub(t)
	a := h.start("a", nil)
	h.eventually("a to hold the lease", h.holds("a"))
	b := h.start("b", nil)
	h.eventually("b to have nothing to repair", h.rollouts.listed("b", 1))
	h.rollouts.set(func(r *rollouts) { r.unfinished = []string{"x"} })
	h.eventually("a resync of a", func() bool { return h.rollouts.count("a", "x") > 0 })
	if n := h.rollouts.count("b", ""); n != 0 {
		t.Errorf("b, which does not hold the lease, ticked %d times", n)
	}
	ended := time.Now()
	a.stop()
	h.within(ttl-time.Second, "b to hold the lease", h.holds("b"))
	h.within(ttl-time.Second, "b to tick what is unfinished", func() bool { return h.rollouts.count("b", "x") > 0 })
	if took := time.Since(ended); took > ttl-time.Second {
		t.Errorf("the lease was handed over within %v", took)
	}
	b.stop()
	response, err := h.client.Leases(t.Context())
	if err != nil || len(response.Leases) != 0 {
		t.Errorf("after both ended: %v, %v", response, err)
	}
}

// TestLostHolder cuts the holder off, as when it stands still, or dies: another goes on once the lease has run out, and never are both at
// a rollout at the same moment. When it comes back it stands behind.
func TestLostHolder(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	a := h.start("a", nil)
	h.eventually("a to hold the lease", h.holds("a"))
	b := h.start("b", nil)
	h.eventually("b to have nothing to repair", h.rollouts.listed("b", 1))
	h.rollouts.set(func(r *rollouts) {
		r.unfinished, r.slow = []string{"x", "y", "z"}, 5*time.Millisecond
		r.next = func(string) time.Time { return time.Now() }
	})
	h.eventually("a to know it", h.rollouts.listed("a", 2))
	a.Enqueue("fleet", "x")
	h.eventually("a to tick", func() bool { return h.rollouts.count("a", "x") > 3 })
	for _, turn := range []struct{ cut, other *replica }{{a, b}, {b, a}} {
		turn.cut.closed.Lock()
		cut := time.Now()
		before := h.rollouts.count(turn.other.name, "x")
		h.within(2*ttl+5*time.Second, turn.other.name+" to tick", func() bool { return h.rollouts.count(turn.other.name, "x") > before+3 })
		t.Logf("%s was at it after %v", turn.other.name, time.Since(cut))
		ticked := h.rollouts.count(turn.cut.name, "")
		turn.cut.closed.Unlock()
		for range 10 {
			turn.cut.Enqueue("fleet", "x")
		}
		h.eventually(turn.cut.name+" to stand behind", func() bool {
			response, err := h.client.Leases(t.Context())
			return err == nil && len(response.Leases) == 2
		})
		if n := h.rollouts.count(turn.cut.name, "") - ticked; n != 0 {
			t.Errorf("%s ticked %d times after it had lost the lease", turn.cut.name, n)
		}
	}
	if n := h.rollouts.overlaps.Load(); n != 0 {
		t.Errorf("%d times both were at one rollout", n)
	}
}

// TestEtcdComesBack cuts every replica off for longer than the lease: one holds it again afterwards.
func TestEtcdComesBack(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	a := h.start("a", nil)
	h.eventually("a to hold the lease", h.holds("a"))
	a.closed.Lock()
	h.eventually("the lease to run out", h.holds(""))
	a.closed.Unlock()
	h.eventually("a to hold the lease again", h.holds("a"))
	h.rollouts.set(func(r *rollouts) { r.unfinished = []string{"x"} })
	h.eventually("a to tick", func() bool { return h.rollouts.count("a", "x") > 0 })
}

// TestHolderAsksBeforeItActs takes the lease away before the session can know: what is told then is not ticked.
func TestHolderAsksBeforeItActs(t *testing.T) {
	h := newHub(t)
	for range 5 {
		wall := clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))
		a := h.start("a", wall)
		h.eventually("a to hold the lease", h.holds("a"))
		h.eventually("a to know it", h.rollouts.listed("a", 2))
		a.Enqueue("fleet", "before")
		h.eventually("a to tick", func() bool { return h.rollouts.count("a", "before") > 0 })
		before, lease, _ := h.holder()
		if _, err := h.client.Revoke(t.Context(), lease); err != nil {
			t.Fatal(err)
		}
		a.Enqueue("fleet", "after")
		h.eventually("a to stand again", func() bool { key, _, _ := h.holder(); return key != "" && key != before })
		if n := h.rollouts.count("a", "after"); n != 0 {
			t.Fatalf("a ticked %d times without the lease", n)
		}
		a.stop()
		h.rollouts.set(func(r *rollouts) { r.done, r.lists = nil, map[string]int{} })
	}
}

// TestNewTermTriesAtOnce wants what failed in one term to be tried at the beginning of the next, whatever it waits for.
func TestNewTermTriesAtOnce(t *testing.T) {
	h, a, wall := alone(t)
	h.rollouts.set(func(r *rollouts) {
		r.unfinished, r.fails = []string{"x"}, func(string, string) error { return errNotYet }
	})
	waiting := wall.Waiters()
	a.Enqueue("fleet", "x")
	for i := range 10 {
		h.eventually("x to wait", func() bool { return h.rollouts.count("a", "x") == i+1 && wall.Waiters() > waiting })
		wall.Step(rollout.LastRetry)
	}
	h.eventually("x to wait", func() bool { return h.rollouts.count("a", "x") == 11 && wall.Waiters() > waiting })
	_, lease, _ := h.holder()
	if _, err := h.client.Revoke(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	h.eventually("x to be tried in the next term", func() bool { return h.rollouts.count("a", "x") > 11 })
}

// TestTimeWritesNothing wants no write while time passes and everything is ticked again and again.
func TestTimeWritesNothing(t *testing.T) {
	h := newHub(t)
	h.rollouts.set(func(r *rollouts) { r.unfinished = []string{"x", "y"} })
	wall := clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))
	h.start("a", wall)
	h.eventually("a to hold the lease", h.holds("a"))
	before := h.revision()
	for i := range 20 {
		had := h.rollouts.count("a", "y")
		h.eventually("resync "+strings.Repeat("I", i+1), func() bool { wall.Step(time.Second); return h.rollouts.count("a", "y") > had })
	}
	if after := h.revision(); after != before {
		t.Errorf("etcd went from revision %d to %d", before, after)
	}
}
