package agent

import (
	"math/rand/v2"
	"time"
)

const (
	// defaultInterval is how often is reported as long as neither the hub nor the command line says so.
	defaultInterval = 30 * time.Second
	// firstDelay is the time before a report is tried again; it doubles with each failure up to the interval, and to a minute at least.
	firstDelay, leastLastDelay = time.Second, time.Minute
	// maxRetryAfter bounds what a hub may ask for with Retry-After. A slip there is not to silence a fleet for a day.
	maxRetryAfter = 10 * time.Minute
	// maxInterval is the longest interval that a report may ask for.
	maxInterval = time.Hour
)

// pace says when the next report is due.
type pace struct {
	// interval is what the hub asked for last, or what it was asked for.
	interval time.Duration
	failures int
}

func newPace(wish time.Duration) pace {
	if wish == 0 {
		wish = defaultInterval
	}
	return pace{interval: wish}
}

// accepted is the time until the next report after one that was taken: what the hub asked for, and up to a tenth more, so that agents that
// started together do not stay together, and never less.
func (p *pace) accepted(told time.Duration) time.Duration {
	p.failures = 0
	if told > 0 {
		p.interval = min(told, maxInterval)
	}
	return spread(p.interval, 0.1)
}

// failed is the time until the next report after one that was not taken. It is spread over half of itself to either side, but never
// before the time that the hub asked for.
func (p *pace) failed(retryAfter time.Duration) time.Duration {
	last := max(p.interval, leastLastDelay)
	delay := last
	if p.failures < 16 { // more would leave the numbers, and is longer than any last
		delay = min(firstDelay<<p.failures, last)
	}
	p.failures++
	return max(spread(delay/2, 2), spread(min(retryAfter, maxRetryAfter), 0.5))
}

// spread is the delay and up to share of it more.
func spread(delay time.Duration, share float64) time.Duration {
	return delay + time.Duration(rand.Float64()*share*float64(delay))
}
