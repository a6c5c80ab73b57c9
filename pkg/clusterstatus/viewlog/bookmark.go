package viewlog

import (
	"context"
	"time"
)

const (
	// bookmarkEvery is how often a watcher that allows it is told how far it is.
	bookmarkEvery = time.Minute
	// bookmarkBefore is how long before the end of a watch it is told for the last time, so that it can go on from there.
	bookmarkBefore = 2 * time.Second
)

// bookmarkTimer says when the next bookmark is due. The zero value never does.
type bookmarkTimer struct {
	timer    *time.Timer
	deadline time.Time
}

func newBookmarkTimer(ctx context.Context, allowed bool) *bookmarkTimer {
	t := &bookmarkTimer{}
	if !allowed {
		return t
	}
	t.deadline, _ = ctx.Deadline()
	t.next()
	return t
}

// next sets the timer anew. After the bookmark before the end there is none.
func (t *bookmarkTimer) next() {
	wait := bookmarkEvery
	if !t.deadline.IsZero() {
		wait = min(wait, time.Until(t.deadline)-bookmarkBefore)
	}
	t.stop()
	t.timer = nil
	if wait > 0 {
		t.timer = time.NewTimer(wait)
	}
}

func (t *bookmarkTimer) channel() <-chan time.Time {
	if t.timer == nil {
		return nil
	}
	return t.timer.C
}

func (t *bookmarkTimer) due() bool {
	select {
	case <-t.channel():
		return true
	default:
		return false
	}
}

func (t *bookmarkTimer) stop() {
	if t.timer != nil {
		t.timer.Stop()
	}
}
