package pages

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	pagesv1 "github.com/binnacle-dev/binnacle/pkg/apis/pages/v1"
)

const (
	// maxGap is how long after the newest publication it is taken at the latest that no replica received reports, in milliseconds. Replicas
	// publish more often than that as long as a cluster may fall silent.
	maxGap = 15 * second
	// maxFactsBytes bounds what one publication writes of facts: etcd takes 1.5 MiB in one request.
	maxFactsBytes = 384 << 10
	// maxDropped bounds how many pages one publication deletes: etcd takes 128 operations in one request.
	maxDropped = 32
	// spareRecords and maxPages are how much may lie in the pages beside what counts before old pages are written anew.
	spareRecords = 1024
	maxPages     = 256
	// tooManyPages is from where on arrivals leave a half of a publication to what is taken out of old pages, which would else have to
	// wait for ever where every publication is full.
	tooManyPages = maxPages + maxPages/4
)

// Input is what a publication is planned from, beside the State.
type Input struct {
	// Now is the time of the publication. It is not before the newest Stamp.
	Now int64
	// Arrivals are the reports to publish, at most one of a cluster.
	Arrivals []Arrival
	// Exists says whether there is a ClusterProfile of this uid.
	Exists func(types.UID) bool
	// Resumed says that the caller has just begun, and found nobody else who publishes.
	Resumed bool
	// KeepAlive is after how many milliseconds without a publication one is due although nothing has to be said, as long as there are
	// clusters that may fall silent.
	KeepAlive int64
}

// Publication is what to write in one transaction, if the Head is still the one that it was planned on.
type Publication struct {
	// Head is the new one.
	Head pagesv1.Head
	// Facts are the records to write under the Head's sequence, if there are any.
	Facts *pagesv1.FactsPage
	// Seen are the seen pages to write, by number.
	Seen map[int]*pagesv1.SeenPage
	// Drop are the sequences of the facts pages to delete.
	Drop []int64
	// Due says whether anything has to be written.
	Due bool
	// Published are the arrivals that are in it, and those that nobody needs any more. The others wait for the next publication.
	Published []Arrival
	// Silenced is how many clusters fall silent with it, and Returned how many are back.
	Silenced, Returned int
}

// plan is a Publication in the making.
type plan struct {
	*State
	Input
	out     Publication
	changed map[int][]Seen // seen pages that differ, as copies
	bytes   int
	room    int   // for what arrives
	free    int32 // no slot before it is free
	taken   map[int32]bool
	kept    map[types.UID]bool // whose record is in out.Facts
}

// Plan returns the next publication.
func (s *State) Plan(in Input) *Publication {
	p := &plan{State: s, Input: in, changed: map[int][]Seen{}, taken: map[int32]bool{}, kept: map[types.UID]bool{}}
	p.out.Head = s.Head
	p.out.Head.Sequence = s.newest() + 1
	p.out.Head.Stamp = in.Now
	if s.Head.GraceFrom == 0 || in.Resumed || in.Now-s.Head.Stamp > gap(in.KeepAlive, s.Head.Parameters) {
		p.out.Head.GraceFrom = in.Now
	}
	p.out.Facts = &pagesv1.FactsPage{}
	if p.room = maxFactsBytes; len(s.facts) > tooManyPages {
		p.room /= 2
	}
	for _, a := range in.Arrivals {
		p.arrive(a)
	}
	mayFallSilent := p.sweep()
	p.clean()
	if len(p.out.Facts.Records) == 0 {
		p.out.Facts = nil
	}
	p.out.Due = p.out.Facts != nil || len(p.changed) > 0 || len(p.out.Drop) > 0 || p.out.Head.SuspectFrom != s.Head.SuspectFrom ||
		mayFallSilent && in.Now-s.Head.Stamp >= in.KeepAlive
	p.out.Seen = map[int]*pagesv1.SeenPage{}
	for number, slots := range p.changed {
		p.out.Seen[number] = encodeSeen(slots)
	}
	return &p.out
}

// newest is the last sequence. Where somebody deleted the head, it is that of the newest page: what is written under a lower one does not
// count.
func (s *State) newest() int64 {
	newest := s.Head.Sequence
	for sequence := range s.facts {
		newest = max(newest, sequence)
	}
	return newest
}

// gap is how long after the newest publication it is taken that no replica received reports: where the grace period is short, a part of it,
// or else it could pass for everybody in a gap that is not seen as one. Publications that come as often as they should are never that far apart.
func gap(keepAlive int64, p pagesv1.Parameters) int64 {
	return min(maxGap, max(2*keepAlive, p.GraceSeconds*second/2))
}

// arrive takes one report in.
func (p *plan) arrive(a Arrival) {
	if !p.Exists(a.UID) {
		p.out.Published = append(p.out.Published, a)
		return
	}
	old, seen := p.Entry(a.UID)
	if old != nil && a.Received < seen.LastSeen {
		// The cluster has reported to another replica since, while this one could not publish.
		p.out.Published = append(p.out.Published, a)
		return
	}
	facts, moved := merge(old, a)
	if moved {
		if size := facts.Size(); p.bytes > 0 && p.bytes+size > p.room {
			// Its facts wait for the next one. That the cluster reports does not.
			if old != nil {
				p.hear(old.Facts.Slot, seen, a)
			}
			return
		}
		if old == nil {
			facts.Slot = p.allot()
			seen = Seen{Changed: a.Received}
		}
		p.keep(facts)
	}
	p.out.Published = append(p.out.Published, a)
	p.hear(facts.Slot, seen, a)
}

// hear takes in that a cluster reported.
func (p *plan) hear(slot int32, seen Seen, a Arrival) {
	since := a.Received - seen.LastSeen
	if back := seen.Silent && seen.LastSeen > seen.Changed && since > 0 && since <= Grace(a.Interval, p.Head.Parameters); back {
		// The second report in a row since it went silent. One whose publication was written though nobody heard of it comes again, and
		// is no second one.
		seen.Silent, seen.Changed = false, a.Received
		p.out.Returned++
	}
	seen.LastSeen, seen.Interval = max(seen.LastSeen, a.Received), a.Interval
	p.set(slot, seen)
}

func (p *plan) keep(facts *pagesv1.Facts) {
	p.out.Facts.Records = append(p.out.Facts.Records, *facts)
	p.bytes += facts.Size()
	p.kept[types.UID(facts.UID)] = true
}

// allot returns a free slot.
func (p *plan) allot() int32 {
	for ; ; p.free++ {
		page, place := place(p.free)
		used := page < len(p.seen) && place < len(p.seen[page]) && p.seen[page][place].LastSeen != 0
		if !used && !p.taken[p.free] {
			p.taken[p.free] = true
			return p.free
		}
	}
}

// set changes what was seen at a slot.
func (p *plan) set(slot int32, seen Seen) {
	page, place := place(slot)
	slots, ok := p.changed[page]
	if !ok && page < len(p.seen) {
		slots = slices.Clone(p.seen[page])
	}
	if missing := place + 1 - len(slots); missing > 0 {
		slots = append(slots, make([]Seen, missing)...)
	}
	slots[place] = seen
	p.changed[page] = slots
}

// at is what was seen at a slot, with this publication.
func (p *plan) at(page, place int) Seen {
	if slots, ok := p.changed[page]; ok {
		return slots[place]
	}
	return p.seen[page][place]
}

// sweep forgets clusters that are gone, finds those that fall silent and judges whether it is too many at once. It says whether there
// are clusters that may fall silent later.
func (p *plan) sweep() (mayFallSilent bool) {
	var silences []int64
	total := len(p.taken)
	mayFallSilent = total > 0
	for page, slots := range p.slots {
		for place, e := range slots {
			if e == nil || p.seen[page][place].LastSeen == 0 {
				continue
			}
			if !p.Exists(e.UID) {
				p.set(int32(page*SlotsPerPage+place), Seen{})
				continue
			}
			total++
			seen := p.at(page, place)
			deadline := max(seen.LastSeen, p.out.Head.GraceFrom) + Grace(seen.Interval, p.Head.Parameters)
			if !seen.Silent && p.Now > deadline {
				seen.Silent, seen.Changed = true, deadline
				p.set(int32(page*SlotsPerPage+place), seen)
				p.out.Silenced++
			}
			if seen.Silent {
				silences = append(silences, seen.Changed)
			} else {
				mayFallSilent = true
			}
		}
	}
	p.out.Head.SuspectFrom = suspectFrom(silences, total, p.Now, p.Head)
	return mayFallSilent || p.out.Head.SuspectFrom != 0
}

// clean takes what counts out of the oldest pages, once too much lies in the pages that does not, and out of those that have to be
// encrypted anew.
func (p *plan) clean() {
	live, records := 0, len(p.out.Facts.Records)
	for _, page := range p.facts {
		records += len(page)
	}
	for _, e := range p.entries {
		if entry, _ := p.Entry(e.UID); entry != nil {
			live++
		}
	}
	pages := len(p.facts)
	for _, sequence := range slices.Sorted(maps.Keys(p.facts)) {
		if len(p.out.Drop) == maxDropped {
			return
		}
		if records <= 2*live+spareRecords && pages <= maxPages && !p.stale[sequence] {
			continue
		}
		var moved []*pagesv1.Facts
		size := 0
		for _, e := range p.facts[sequence] {
			if entry, _ := p.Entry(e.UID); entry == e && !p.kept[e.UID] && p.Exists(e.UID) {
				moved = append(moved, e.Facts)
				size += e.Facts.Size()
			}
		}
		if p.bytes > 0 && p.bytes+size > maxFactsBytes {
			continue // Another one may fit.
		}
		for _, facts := range moved {
			p.keep(facts)
		}
		p.out.Drop = append(p.out.Drop, sequence)
		records -= len(p.facts[sequence]) - len(moved)
		pages--
	}
}
