package viewlog

import (
	"context"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/utils/third_party/forked/golang/btree"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// Limits bound how much history the log keeps. Whichever is reached first counts.
type Limits struct {
	// Events is how many events are kept at most.
	Events int
	// Bytes is about how much memory the history takes at most: a half of it the objects that events replaced, the other half what was
	// encoded for watchers. A quarter should have room for a revision's events in each encoding that is asked for.
	Bytes int64
}

// Log is the objects of a view, and the events that led to them. All of its methods may be called at any time by anyone.
type Log struct {
	// write is held by whoever changes the log, and guards tree. Readers never wait for it.
	write sync.Mutex
	tree  *btree.BTree[*entry]

	// mu guards what readers see. It is held for moments only, never while objects are copied or watchers are woken.
	mu          sync.RWMutex
	generation  *generation
	unready     error
	processed   uint64
	ring        *ring
	newest      *snapshot
	checkpoints []*snapshot
	// appended is closed when events were added, progressed when processed grew. Both are closed when a generation ends.
	appended, progressed chan struct{}

	watchers watchers
	tooSlow  atomic.Int64
}

// generation is the time from one load of the view to the next. A watcher lives in one.
type generation struct {
	ended chan struct{}
	// err is why it ended. It is set before ended is closed.
	err *apierrors.StatusError
}

// New returns a log that is not ready until the first Reset.
func New(limits Limits) *Log {
	return &Log{
		tree:       newTree(),
		unready:    errNotLoaded,
		ring:       newRing(max(limits.Events, 1), max(limits.Bytes, 1)),
		newest:     &snapshot{tree: newTree()},
		appended:   make(chan struct{}),
		progressed: make(chan struct{}),
		watchers:   watchers{all: map[*watcher]struct{}{}},
	}
}

// Ready returns nil if the view is served, else the error that requests are answered with.
func (l *Log) Ready() error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.readyLocked()
}

func (l *Log) readyLocked() error {
	if l.unready != nil {
		return unavailable(l.unready)
	}
	return nil
}

// WaitFor waits until a revision is processed. The error says that ctx ended, or that the view is not served.
func (l *Log) WaitFor(ctx context.Context, revision int64) error {
	_, err := l.waitFor(ctx, Marker(revision))
	return err
}

// waitFor waits until everything up to a resourceVersion is processed, and returns what is processed then or when ctx ended.
func (l *Log) waitFor(ctx context.Context, rv uint64) (processed uint64, err error) {
	for {
		l.mu.RLock()
		processed, err = l.processed, l.readyLocked()
		progressed := l.progressed
		l.mu.RUnlock()
		if err != nil || processed >= rv {
			return processed, err
		}
		select {
		case <-progressed:
		case <-ctx.Done():
			return processed, ctx.Err()
		}
	}
}

// Get returns the newest version of an object, nil if there is none. It does not wait, and answers even while the view is not served. The
// object must not be changed.
func (l *Log) Get(key string) *binnacle.ClusterStatus {
	l.mu.RLock()
	newest := l.newest
	l.mu.RUnlock()
	if e := newest.get(key); e != nil {
		return e.object
	}
	return nil
}

// read is what a reader found in the log at one moment.
type read struct {
	*snapshot
	// rv is what the snapshot is the state at, for lists and bookmarks.
	rv         uint64
	generation *generation
}

// latest returns the newest state. Its resourceVersion is that of everything that is processed, not of the last event: a client that comes
// back with it is understood by a replica that was loaded at just that revision.
func (l *Log) latest() (read, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return read{l.newest, l.processed, l.generation}, l.readyLocked()
}

// exactly returns the state at a resourceVersion that is processed already. The error is errTooOld if the history no longer reaches it.
func (l *Log) exactly(rv uint64) (read, error) {
	l.mu.RLock()
	if err := l.readyLocked(); err != nil {
		l.mu.RUnlock()
		return read{}, err
	}
	if processed := l.processed; rv > processed {
		// It was reached, but then the view was loaded anew from an etcd that is behind.
		l.mu.RUnlock()
		return read{}, storage.NewTooLargeResourceVersionError(rv, processed, 1)
	}
	if rv < l.ring.floor {
		l.mu.RUnlock()
		return read{}, errTooOld
	}
	position := l.ring.after(rv)
	base := l.newest
	for i := len(l.checkpoints) - 1; i >= 0 && l.checkpoints[i].position >= position; i-- {
		base = l.checkpoints[i]
	}
	events := make([]*event, base.position-position)
	l.ring.copy(events, position)
	at := read{base, rv, l.generation}
	l.mu.RUnlock()
	if len(events) > 0 {
		at.snapshot = base.undo(events)
	}
	return at, nil
}

// position returns the number of the first event after a resourceVersion, for a watcher to begin with.
func (l *Log) position(rv uint64) (int64, *generation, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if err := l.readyLocked(); err != nil {
		return 0, nil, err
	}
	if rv < l.ring.floor {
		return 0, nil, tooOldToWatch(rv, l.ring.floor)
	}
	return l.ring.after(rv), l.generation, nil
}

// next copies events from a position on for a watcher of a generation. Without one, appended is what to wait for, and everything up to
// processed was seen. The error is errEnded if the generation has ended or is just ending, or errTooOld.
func (l *Log) next(to []*event, g *generation, position int64) (n int, processed uint64, appended <-chan struct{}, err error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	switch {
	case l.generation != g:
		return 0, 0, nil, errEnded
	case position < l.ring.base:
		return 0, 0, nil, errTooOld
	}
	return l.ring.copy(to, position), l.processed, l.appended, nil
}

// Stats says how full the log is.
type Stats struct {
	// Objects is how many objects there are.
	Objects int
	// Events and Bytes are how much history there is, as Limits count it.
	Events int
	Bytes  int64
	// Watchers is how many watches are open, TooSlow how many were ended so far because they fell behind the history.
	Watchers int
	TooSlow  int64
	// Processed and Floor are the newest resourceVersion, and the oldest that can be listed and watched from.
	Processed, Floor uint64
}

// Stats returns how full the log is.
func (l *Log) Stats() Stats {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return Stats{
		Objects: l.newest.tree.Len(), Events: int(l.ring.next - l.ring.base), Bytes: l.ring.bytes(),
		Watchers: l.watchers.len(), TooSlow: l.tooSlow.Load(), Processed: l.processed, Floor: l.ring.floor,
	}
}
