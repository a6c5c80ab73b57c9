package viewlog

import (
	"strings"
	"sync"

	"k8s.io/utils/third_party/forked/golang/btree"
)

const (
	// degree of the trees that objects are kept in.
	degree = 32
	// checkpointEvery is after how many events a snapshot is kept, from which those of older resourceVersions are made.
	checkpointEvery = 512
)

func newTree() *btree.BTree[*entry] {
	return btree.New(degree, func(a, b *entry) bool { return a.key < b.key })
}

// snapshot is all objects after a number of events. Trees share their nodes with each other, so that one costs about what changed since the
// one before.
type snapshot struct {
	// position is the number of the first event that is not in it.
	position int64
	tree     *btree.BTree[*entry]
	// mu is held to copy the tree; to read it takes no lock.
	mu sync.Mutex
}

func (s *snapshot) fork() *btree.BTree[*entry] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tree.Clone()
}

func (s *snapshot) get(key string) *entry {
	e, _ := s.tree.Get(&entry{key: key})
	return e
}

// each visits the entries whose keys have a prefix in the order of their keys, from a key on, until visit returns false.
func (s *snapshot) each(prefix, from string, visit func(*entry) bool) {
	s.tree.AscendGreaterOrEqual(&entry{key: max(prefix, from)}, func(e *entry) bool {
		return strings.HasPrefix(e.key, prefix) && visit(e)
	})
}

// undo returns the snapshot before events, of which the last is the last in s.
func (s *snapshot) undo(events []*event) *snapshot {
	tree := s.fork()
	for i := len(events) - 1; i >= 0; i-- {
		if was := events[i].was; was != nil {
			tree.ReplaceOrInsert(was)
		} else {
			tree.Delete(&entry{key: events[i].key})
		}
	}
	return &snapshot{position: s.position - int64(len(events)), tree: tree}
}
