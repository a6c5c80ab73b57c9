package viewlog

import (
	"context"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	utilflowcontrol "k8s.io/apiserver/pkg/util/flowcontrol"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// watchBatch is how many events a watcher takes from the log at once, and how many wait for its reader at most.
const watchBatch = 64

// watcher is a place in the log, and implements watch.Interface.
type watcher struct {
	log        *Log
	match      matcher
	generation *generation
	// position is the number of the next event to look at. Only the watcher writes it.
	position atomic.Int64
	// seen is the resourceVersion up to which the reader has everything. Events up to it are left out.
	seen uint64
	// initial are the objects to begin with, unless nil. With completes, a bookmark says when all of them were sent.
	initial   *snapshot
	completes bool
	bookmarks bool

	result    chan watch.Event
	stopped   chan struct{}
	stop      sync.Once
	behind    chan struct{}
	cutBehind sync.Once
}

func newWatcher(l *Log, m matcher) *watcher {
	return &watcher{log: l, match: m, result: make(chan watch.Event, watchBatch), stopped: make(chan struct{}), behind: make(chan struct{})}
}

// ResultChan implements watch.Interface.
func (w *watcher) ResultChan() <-chan watch.Event { return w.result }

// Stop implements watch.Interface.
func (w *watcher) Stop() { w.stop.Do(func() { close(w.stopped) }) }

// cut ends the watch since its reader is too slow.
func (w *watcher) cut() {
	w.cutBehind.Do(func() {
		w.log.tooSlow.Add(1)
		close(w.behind)
	})
}

// start runs the watch until it is stopped, the context ends, or it cannot go on.
func (w *watcher) start(ctx context.Context) {
	w.log.watchers.add(w)
	go func() {
		defer close(w.result)
		defer w.log.watchers.remove(w)
		if err := w.run(ctx); err != nil {
			w.log.watchers.remove(w) // It no longer reads the log, however long its reader takes to hear of it.
			w.fail(ctx, err)
		}
	}()
}

// run returns why the watch cannot go on, nil if nobody wants to know.
func (w *watcher) run(ctx context.Context) *apierrors.StatusError {
	if err := w.sendInitial(ctx); err != nil {
		return w.ended(err)
	}
	utilflowcontrol.WatchInitialized(ctx)
	timer := newBookmarkTimer(ctx, w.bookmarks)
	defer timer.stop()
	events, due := make([]*event, watchBatch), false
	for {
		n, reached, appended, err := w.log.next(events, w.generation, w.position.Load())
		if err == nil && n > 0 {
			reached, err = w.sendEvents(ctx, events[:n])
		}
		// A watch from a resourceVersion that is still to come is silent until it is reached.
		if err == nil && due && reached >= w.seen {
			w.seen = reached
			err = w.sendBookmark(ctx, reached, false)
		}
		if err != nil {
			return w.ended(err)
		}
		if due {
			timer.next()
		}
		if due = timer.due(); due || n > 0 {
			continue
		}
		select {
		case <-appended:
		case <-timer.channel():
			due = true
		case <-w.stopped:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// sendInitial sends the objects that the watch begins with.
func (w *watcher) sendInitial(ctx context.Context) (err error) {
	if w.initial == nil {
		return nil
	}
	w.match.each(w.initial, "", func(e *entry) bool {
		var selected bool
		if selected, err = w.match.selects(e); err == nil && selected {
			err = w.send(ctx, watch.Event{Type: watch.Added, Object: &cacheable{object: e.object}})
		}
		return err == nil
	})
	w.initial = nil
	if err == nil && w.completes {
		err = w.sendBookmark(ctx, w.seen, true)
	}
	return err
}

// sendEvents sends what of a batch is new to the reader and concerns it, and returns the resourceVersion that it has then reached.
func (w *watcher) sendEvents(ctx context.Context, events []*event) (reached uint64, err error) {
	for i, e := range events {
		if e.rv > w.seen {
			if err := w.sendEvent(ctx, e); err != nil {
				return 0, err
			}
			w.seen = e.rv
		}
		reached, events[i] = e.rv, nil
		w.position.Add(1)
	}
	return reached, nil
}

func (w *watcher) sendEvent(ctx context.Context, e *event) error {
	if !w.match.key(e.key) {
		return nil
	}
	now, err := w.match.selects(e.now)
	if err != nil {
		return err
	}
	was, err := w.match.selects(e.was)
	if err != nil {
		return err
	}
	if sent, ok := e.forWatcher(now, was); ok {
		return w.send(ctx, sent)
	}
	return nil
}

func (w *watcher) sendBookmark(ctx context.Context, rv uint64, completes bool) error {
	bookmark := &binnacle.ClusterStatus{}
	bookmark.ResourceVersion = format(rv)
	if completes {
		if err := storage.AnnotateInitialEventsEndBookmark(bookmark); err != nil {
			return err
		}
	}
	return w.send(ctx, watch.Event{Type: watch.Bookmark, Object: bookmark})
}

// send waits for the reader, unless the watch ends meanwhile.
func (w *watcher) send(ctx context.Context, e watch.Event) error {
	select {
	case w.result <- e:
		return nil
	case <-w.behind:
		return errTooOld
	case <-w.generation.ended:
		return errEnded
	case <-w.stopped:
		return errStopped
	case <-ctx.Done():
		return errStopped
	}
}

// ended says what the reader is told when the watch cannot go on, nil if it went away itself.
func (w *watcher) ended(err error) *apierrors.StatusError {
	switch err {
	case errStopped:
		return nil
	case errEnded:
		<-w.generation.ended // It is just being ended where it is not yet.
		return w.generation.err
	case errTooOld:
		w.cut()
		return tooOldToWatch(w.seen, w.log.Stats().Floor)
	default:
		return apierrors.NewInternalError(err)
	}
}

func (w *watcher) fail(ctx context.Context, err *apierrors.StatusError) {
	select {
	case w.result <- errorEvent(err):
	case <-w.stopped:
	case <-ctx.Done():
	}
}
