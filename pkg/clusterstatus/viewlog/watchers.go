package viewlog

import "sync"

// watchers are the open watches.
type watchers struct {
	mu  sync.Mutex
	all map[*watcher]struct{}
}

func (w *watchers) add(one *watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all[one] = struct{}{}
}

func (w *watchers) remove(one *watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, one)
}

func (w *watchers) len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.all)
}

// cut ends the watches whose next event is no longer held. One that waits for its reader would not notice by itself, and would keep events
// in memory that the history has dropped.
func (w *watchers) cut(base int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.all {
		if one.position.Load() < base {
			one.cut()
		}
	}
}
