package viewlog

import "sort"

// ring holds the newest events. Events are numbered without end; those from base up to, not including, next are held.
type ring struct {
	slots      []*event
	base, next int64
	// released is the first event that may still keep encodings.
	released int64
	// floor is the oldest resourceVersion from which on every event is held.
	floor uint64
	// history is what the events cost without encodings, which have a budget of their own: a history as long as it may be must not
	// leave new events without room for theirs, or each watcher would encode by itself.
	history, historyLimit int64
	encodings             budget
}

func newRing(events int, bytes int64) *ring {
	return &ring{slots: make([]*event, events), historyLimit: bytes / 2, encodings: budget{limit: bytes / 2}}
}

func (r *ring) at(n int64) *event {
	return r.slots[n%int64(len(r.slots))]
}

// push adds an event and drops the oldest where there is no slot left.
func (r *ring) push(e *event) {
	if r.next-r.base == int64(len(r.slots)) {
		r.drop()
	}
	r.slots[r.next%int64(len(r.slots))] = e
	r.next++
	r.history += e.cost()
}

// trim drops the oldest events beyond the limit, and the oldest encodings, which can be made again, so that half of their budget is free
// for new ones.
func (r *ring) trim() {
	for r.history > r.historyLimit && r.base < r.next {
		r.drop()
	}
	for r.encodings.used.Load() > r.encodings.limit/2 && r.released < r.next {
		r.at(r.released).release()
		r.released++
	}
}

// bytes is what the ring takes.
func (r *ring) bytes() int64 {
	return r.history + r.encodings.used.Load()
}

func (r *ring) drop() {
	slot := r.base % int64(len(r.slots))
	e := r.slots[slot]
	e.release()
	r.history -= e.cost()
	r.slots[slot] = nil
	r.floor = e.rv
	r.base++
	r.released = max(r.released, r.base)
}

// reset drops everything. The numbering goes on, so that no watcher takes a new event for an old one.
func (r *ring) reset(floor uint64) {
	for r.base < r.next {
		r.drop()
	}
	r.floor = floor
}

// after returns the number of the first event above a resourceVersion.
func (r *ring) after(rv uint64) int64 {
	return r.base + int64(sort.Search(int(r.next-r.base), func(i int) bool { return r.at(r.base+int64(i)).rv > rv }))
}

// copy copies events from number from on into a slice and returns how many.
func (r *ring) copy(to []*event, from int64) int {
	n := int(min(int64(len(to)), r.next-from))
	for i := range n {
		to[i] = r.at(from + int64(i))
	}
	return n
}
