package viewlog

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
)

// Watch implements storage.Interface. Where a watch cannot begin since its resourceVersion is too old, or is not reached in time, it is one
// that has just an error, as of a kind in etcd. While the view is not served there is none.
func (s *store) Watch(ctx context.Context, key string, o storage.ListOptions) (watch.Interface, error) {
	scope, err := s.scope(key, o.Recursive)
	if err != nil {
		return nil, err
	}
	rv, err := s.parse(o.ResourceVersion)
	if err != nil {
		return nil, err
	}
	if err := s.log.Ready(); err != nil {
		return nil, err
	}
	w := newWatcher(s.log, newMatcher(scope, !o.Recursive, o.Predicate, s.Attributes))
	w.bookmarks = o.Predicate.AllowWatchBookmarks
	if err := s.place(ctx, w, o, rv); err != nil {
		return refuse(err)
	}
	w.start(ctx)
	return w, nil
}

// place sets where a watch begins.
func (s *store) place(ctx context.Context, w *watcher, o storage.ListOptions, rv uint64) error {
	list := o.SendInitialEvents != nil && *o.SendInitialEvents
	if !list && rv != 0 {
		return w.placeAfter(rv)
	}
	at, err := s.atLeast(ctx, o.ResourceVersion)
	if err != nil {
		return err
	}
	if list || o.SendInitialEvents == nil {
		w.initial = at.snapshot
	}
	w.completes = list && w.bookmarks
	w.generation, w.seen = at.generation, at.rv
	w.position.Store(at.snapshot.position)
	return nil
}

func (w *watcher) placeAfter(rv uint64) error {
	position, generation, err := w.log.position(rv)
	if err != nil {
		return err
	}
	w.generation, w.seen = generation, rv
	w.position.Store(position)
	return nil
}

// refuse answers a watch that cannot begin.
func refuse(err error) (watch.Interface, error) {
	var status *apierrors.StatusError
	if apierrors.IsServiceUnavailable(err) || !errors.As(err, &status) {
		return nil, err
	}
	refused := make(chan watch.Event, 1)
	refused <- errorEvent(status)
	close(refused)
	return watch.NewProxyWatcher(refused), nil
}

func errorEvent(err *apierrors.StatusError) watch.Event {
	status := err.Status()
	return watch.Event{Type: watch.Error, Object: &status}
}
