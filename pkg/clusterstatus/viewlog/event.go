package viewlog

import (
	"sync"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// sizeOfEvent is about what an event takes in memory beside the object that it replaced.
const sizeOfEvent = 512

// event is one change of one object.
type event struct {
	rv  uint64
	key string
	// now is the object after the change, was the one before it. One of them may be nil, for a deletion or a creation.
	now, was *entry

	// after is now as watchers get it. Watchers for which the object is gone, since it was deleted or since they no longer select it,
	// get gone: the old content with the resourceVersion of the event.
	after   cacheable
	gone    cacheable
	goneSet sync.Once
}

func newEvent(rv uint64, key string, now, was *entry, b *budget) *event {
	e := &event{rv: rv, key: key, now: now, was: was}
	e.after.budget, e.gone.budget = b, b
	if now != nil {
		e.after.object = now.object
	}
	return e
}

// cost is what the history keeps in memory because of the event, encodings aside. The object after the change is still there without the
// history, or is charged to the event that replaced it.
func (e *event) cost() int64 {
	if e.was == nil {
		return sizeOfEvent
	}
	return sizeOfEvent + e.was.size
}

// forWatcher returns what a watcher is sent that selects the object as it is now, or selected it as it was. ok is false if that is nothing.
func (e *event) forWatcher(now, was bool) (sent watch.Event, ok bool) {
	switch {
	case now && was:
		return watch.Event{Type: watch.Modified, Object: &e.after}, true
	case now:
		return watch.Event{Type: watch.Added, Object: &e.after}, true
	case was:
		e.goneSet.Do(func() { e.gone.object = withRV(e.was.object, e.rv) })
		return watch.Event{Type: watch.Deleted, Object: &e.gone}, true
	default:
		return watch.Event{}, false
	}
}

func (e *event) release() {
	e.after.release()
	e.gone.release()
}

func withRV(object *binnacle.ClusterStatus, rv uint64) *binnacle.ClusterStatus {
	changed := *object
	changed.ResourceVersion = format(rv)
	return &changed
}
