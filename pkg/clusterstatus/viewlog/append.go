package viewlog

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"k8s.io/utils/third_party/forked/golang/btree"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// Change is what became of one object.
type Change struct {
	// Key is namespace/name.
	Key string
	// Object is the new version, nil if it was deleted. The log owns it from then on.
	Object *binnacle.ClusterStatus
}

// Reset replaces everything by what was loaded at a revision, and makes the log ready. There is no history before it: every watcher is told
// that its resourceVersion is too old. Objects without a resourceVersion get that of the complete revision.
func (l *Log) Reset(revision int64, objects []*binnacle.ClusterStatus) {
	l.write.Lock()
	defer l.write.Unlock()
	rv := Marker(revision)
	tree := newTree()
	for _, object := range objects {
		if object.ResourceVersion == "" {
			object.ResourceVersion = format(rv)
		}
		tree.ReplaceOrInsert(newEntry(object))
	}
	l.endGeneration(func() *apierrors.StatusError {
		l.tree, l.newest = tree, &snapshot{position: l.ring.next, tree: tree.Clone()}
		l.ring.reset(rv)
		l.checkpoints = nil
		l.processed, l.unready = rv, nil
		return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: the view was loaded anew at %d", rv))
	})
}

// Suspend stops serving until the next Reset: requests are answered that the service is unavailable, and watches end with the same.
func (l *Log) Suspend(why error) {
	if why == nil {
		why = errSuspended
	}
	l.write.Lock()
	defer l.write.Unlock()
	l.endGeneration(func() *apierrors.StatusError {
		l.unready = why
		return unavailable(why)
	})
}

// endGeneration makes a change that no watch survives. change returns what the watches are told.
func (l *Log) endGeneration(change func() *apierrors.StatusError) {
	l.mu.Lock()
	old, appended, progressed := l.generation, l.appended, l.progressed
	err := change()
	l.generation = &generation{ended: make(chan struct{})}
	l.appended, l.progressed = make(chan struct{}), make(chan struct{})
	l.mu.Unlock()
	if old != nil {
		old.err = err
		close(old.ended)
	}
	close(appended)
	close(progressed)
}

// Progress says that a revision has passed. One that has passed already is left out of account.
func (l *Log) Progress(revision int64) {
	l.write.Lock()
	defer l.write.Unlock()
	l.mu.Lock()
	if l.unready != nil || Marker(revision) <= l.processed {
		l.mu.Unlock()
		return
	}
	progressed := l.progress(Marker(revision))
	l.mu.Unlock()
	close(progressed)
}

// progress is called with mu held. What it returns is to be closed when mu is not.
func (l *Log) progress(rv uint64) chan struct{} {
	progressed := l.progressed
	l.processed, l.progressed = rv, make(chan struct{})
	return progressed
}

// Append adds the changes of a revision in their order, which must be the same on every replica, and completes the revision. It sets the
// resourceVersions of the objects. An error means that nothing was added: the caller has to load the view anew.
func (l *Log) Append(revision int64, changes []Change) error {
	if len(changes) == 0 {
		l.Progress(revision)
		return nil
	}
	l.write.Lock()
	defer l.write.Unlock()
	if err := l.check(revision, changes); err != nil {
		return err
	}
	tree := l.tree.Clone()
	events := make([]*event, 0, len(changes))
	var checkpoints []*snapshot
	first := l.ring.next // Only written with l.write held.
	for i, change := range changes {
		e, err := l.apply(revision, i+1, change, tree)
		if err != nil {
			return err
		}
		events = append(events, e)
		if position := first + int64(len(events)); position%checkpointEvery == 0 {
			checkpoints = append(checkpoints, &snapshot{position: position, tree: tree.Clone()})
		}
	}
	l.tree = tree
	l.publish(Marker(revision), events, checkpoints, &snapshot{position: first + int64(len(events)), tree: tree.Clone()})
	return nil
}

func (l *Log) check(revision int64, changes []Change) error {
	if err := l.Ready(); err != nil {
		return fmt.Errorf("append revision %d: %w", revision, err)
	}
	if Marker(revision) <= l.processed {
		return fmt.Errorf("append revision %d: it is not above %d, which is processed", revision, Revision(l.processed))
	}
	_, err := RV(revision, len(changes))
	return err
}

// apply changes an object in the tree, and returns the event of it.
func (l *Log) apply(revision int64, ordinal int, change Change, tree *btree.BTree[*entry]) (*event, error) {
	rv, err := RV(revision, ordinal)
	if err != nil {
		return nil, err
	}
	if change.Object == nil {
		was, found := tree.Delete(&entry{key: change.Key})
		if !found {
			return nil, fmt.Errorf("revision %d deletes %s, which does not exist", revision, change.Key)
		}
		return newEvent(rv, change.Key, nil, was, &l.ring.encodings), nil
	}
	if key := keyOf(change.Object); key != change.Key {
		return nil, fmt.Errorf("revision %d changes %s to an object that is %s", revision, change.Key, key)
	}
	change.Object.ResourceVersion = format(rv)
	now := newEntry(change.Object)
	was, _ := tree.ReplaceOrInsert(now)
	return newEvent(rv, change.Key, now, was, &l.ring.encodings), nil
}

// publish makes events visible and wakes who waits for them, without holding the lock meanwhile.
func (l *Log) publish(processed uint64, events []*event, checkpoints []*snapshot, newest *snapshot) {
	l.mu.Lock()
	base := l.ring.base
	for _, e := range events {
		l.ring.push(e)
	}
	l.ring.trim()
	l.checkpoints = append(l.checkpoints, checkpoints...)
	kept := slices.IndexFunc(l.checkpoints, func(s *snapshot) bool { return s.position >= l.ring.base })
	if kept < 0 {
		kept = len(l.checkpoints)
	}
	l.checkpoints = slices.Delete(l.checkpoints, 0, kept)
	l.newest = newest
	appended, progressed := l.appended, l.progress(processed)
	l.appended = make(chan struct{})
	trimmed := l.ring.base
	l.mu.Unlock()

	close(progressed)
	close(appended)
	if trimmed > base {
		l.watchers.cut(trimmed)
	}
}
