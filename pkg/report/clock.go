package report

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Clock is the clock of the view, in milliseconds since 1970: that of the machine, but never behind the newest publication of any
// replica, and never backwards. So replicas whose clocks differ agree on the order of what they saw.
type Clock struct {
	wall clock.PassiveClock

	mu sync.Mutex
	// last is the time of the view when the machine's was since. That one is kept whole, for the monotonic reading in it.
	last, since time.Time
}

// slowing is by which part the time of the view is slower than that of the machine while it is ahead.
const slowing = 8

// NewClock returns a clock that follows the one of the machine.
func NewClock(wall clock.PassiveClock) *Clock {
	now := wall.Now()
	return &Clock{wall: wall, last: now.Round(0), since: now}
}

// Now is the time of the view.
func (c *Clock) Now() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now().UnixMilli()
}

func (c *Clock) now() time.Time {
	now := c.wall.Now()
	elapsed := max(0, now.Sub(c.since))
	c.since = now
	if machine := now.Round(0); !machine.Before(c.last.Add(elapsed)) {
		c.last = machine
	} else {
		// Behind another replica, or set back, time goes on from what is known, a little slower until the machine is there too: else one
		// replica that was ahead once would leave all of them ahead for ever.
		c.last = c.last.Add(elapsed - elapsed/slowing)
	}
	return c.last
}

// Observe takes the time of a publication into account.
func (c *Clock) Observe(stamp int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if other := time.UnixMilli(stamp); other.After(c.now()) {
		c.last = other
	}
}

// Ahead is by how much the time of the view is ahead of the clock of the machine.
func (c *Clock) Ahead() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(0, c.now().Sub(c.wall.Now().Round(0)))
}
