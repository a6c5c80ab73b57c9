package pages

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	pagesv1 "github.com/binnacle-dev/binnacle/pkg/apis/pages/v1"
)

// State is what the pages add up to. It is not safe for concurrent use.
type State struct {
	// Head is the last one, and HeadRevision the revision of etcd that wrote it; 0 where there is none.
	Head         pagesv1.Head
	HeadRevision int64

	entries map[types.UID]*Entry
	// slots are who has each slot, by seen page and place.
	slots [][]*Entry
	seen  [][]Seen
	// facts are the records of each facts page, by its sequence.
	facts map[int64][]*Entry
	// stale are the facts pages that are not stored as they would be now.
	stale map[int64]bool
}

// Entry is what the pages hold of one cluster.
type Entry struct {
	// UID of the ClusterProfile.
	UID types.UID
	// Facts are what it reported.
	Facts *pagesv1.Facts

	sequence int64
	digest   ReportDigest
}

// Change is a write of etcd to a page, with the key below the prefix of the pages.
type Change struct {
	Key string
	// Value is nil where the page was deleted.
	Value []byte
	// Revision is the ModRevision.
	Revision int64
	// Stale says that the value is not stored as it would be now: it is encrypted with a key that is on its way out.
	Stale bool
}

// NewState returns the state of no pages.
func NewState() *State {
	return &State{entries: map[types.UID]*Entry{}, facts: map[int64][]*Entry{}, stale: map[int64]bool{}}
}

// Entry returns what the pages hold of a cluster: nil, and nothing seen, where it never reported.
func (s *State) Entry(uid types.UID) (*Entry, Seen) {
	e := s.entries[uid]
	if e == nil {
		return nil, Seen{}
	}
	page, place := place(e.Facts.Slot)
	if page >= len(s.seen) || place >= len(s.seen[page]) || s.slots[page][place] != e || s.seen[page][place].LastSeen == 0 {
		return nil, Seen{} // A record whose cluster is gone, until its page is written anew.
	}
	return e, s.seen[page][place]
}

// Apply takes the changes of one revision, and returns the clusters of which something may have changed that the view shows.
func (s *State) Apply(changes []Change) ([]types.UID, error) {
	dirty := map[types.UID]struct{}{}
	// Facts come before what was seen, and what is written before what is deleted, since a publication moves records to a new page.
	ordered := slices.SortedFunc(slices.Values(changes), func(a, b Change) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Key, b.Key))
	})
	for _, change := range ordered {
		if err := s.apply(change, dirty); err != nil {
			return nil, fmt.Errorf("page %s: %w", change.Key, err)
		}
	}
	uids := make([]types.UID, 0, len(dirty))
	for uid := range dirty {
		uids = append(uids, uid)
	}
	return uids, nil
}

func rank(c Change) int {
	prefix, _, _ := parseKey(c.Key)
	switch {
	case c.Value == nil:
		return 3
	case prefix == factsPrefix:
		return 1
	case prefix == seenPrefix:
		return 2
	}
	return 0
}

func (s *State) apply(change Change, dirty map[types.UID]struct{}) error {
	prefix, number, err := parseKey(change.Key)
	if err != nil {
		return err
	}
	switch {
	case prefix == HeadKey:
		return s.applyHead(change, dirty)
	case prefix == factsPrefix && change.Value == nil:
		s.dropFacts(number, dirty)
		return nil
	case prefix == factsPrefix:
		s.stale[number] = change.Stale
		return s.applyFacts(number, change.Value, dirty)
	}
	if number < 0 || number >= maxSlots/SlotsPerPage {
		return fmt.Errorf("the seen page %d is none: there are %d", number, maxSlots/SlotsPerPage)
	}
	return s.applySeen(int(number), change.Value, dirty)
}

func (s *State) applyHead(change Change, dirty map[types.UID]struct{}) error {
	old := s.Head
	s.Head, s.HeadRevision = pagesv1.Head{}, 0
	if change.Value != nil {
		head, err := DecodeHead(change.Value)
		if err != nil {
			return err
		}
		s.Head, s.HeadRevision = head, change.Revision
	}
	if old.SuspectFrom != s.Head.SuspectFrom {
		for uid := range s.entries {
			if _, seen := s.Entry(uid); seen.Silent {
				dirty[uid] = struct{}{}
			}
		}
	}
	return nil
}

func (s *State) applyFacts(sequence int64, value []byte, dirty map[types.UID]struct{}) error {
	var page pagesv1.FactsPage
	if err := decode(value, &page); err != nil {
		return err
	}
	records := make([]*Entry, 0, len(page.Records))
	for i := range page.Records {
		facts := &page.Records[i]
		if facts.Slot < 0 || facts.Slot >= maxSlots {
			return fmt.Errorf("the slot %d is none: there are %d", facts.Slot, maxSlots)
		}
		digest, err := Digest(&facts.Report)
		if err != nil {
			return err
		}
		e := &Entry{UID: types.UID(facts.UID), Facts: facts, sequence: sequence, digest: digest}
		records = append(records, e)
		if old := s.entries[e.UID]; old == nil || old.sequence <= sequence {
			s.entries[e.UID] = e
			dirty[e.UID] = struct{}{}
		}
		page, place := place(facts.Slot)
		s.grow(page, place+1)
		if had := s.slots[page][place]; had == nil || had.sequence < sequence || had.UID == e.UID {
			s.slots[page][place] = s.entries[e.UID]
		}
	}
	s.facts[sequence] = records
	return nil
}

func (s *State) dropFacts(sequence int64, dirty map[types.UID]struct{}) {
	for _, e := range s.facts[sequence] {
		if s.entries[e.UID] == e {
			delete(s.entries, e.UID)
			dirty[e.UID] = struct{}{}
		}
		if page, place := place(e.Facts.Slot); s.slots[page][place] == e {
			s.slots[page][place] = nil
		}
	}
	delete(s.facts, sequence)
	delete(s.stale, sequence)
}

func (s *State) applySeen(number int, value []byte, dirty map[types.UID]struct{}) error {
	var slots []Seen
	if value != nil {
		var page pagesv1.SeenPage
		if err := decode(value, &page); err != nil {
			return err
		}
		var err error
		if slots, err = decodeSeen(&page); err != nil {
			return err
		}
	}
	s.grow(number, len(slots))
	old := s.seen[number]
	s.seen[number] = append(slots, make([]Seen, len(old)-min(len(slots), len(old)))...)
	for i, e := range s.slots[number] {
		if e != nil && s.visible(e.UID, old[i]) != s.visible(e.UID, s.seen[number][i]) {
			dirty[e.UID] = struct{}{}
		}
	}
	return nil
}

// visible is what the view shows of when a cluster was seen.
func (s *State) visible(uid types.UID, seen Seen) Seen {
	if !seen.Silent {
		seen.LastSeen = Coarse(uid, seen.LastSeen, s.Head.Parameters)
	}
	return seen
}

// grow makes room for the first places of a seen page.
func (s *State) grow(page, places int) {
	for len(s.slots) <= page {
		s.slots, s.seen = append(s.slots, nil), append(s.seen, nil)
	}
	if missing := places - len(s.slots[page]); missing > 0 {
		s.slots[page] = append(s.slots[page], make([]*Entry, missing)...)
		s.seen[page] = append(s.seen[page], make([]Seen, missing)...)
	}
}

func place(slot int32) (page, place int) { return int(slot) / SlotsPerPage, int(slot) % SlotsPerPage }
