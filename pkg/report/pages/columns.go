package pages

import (
	"encoding/binary"
	"errors"
	"time"

	pagesv1 "github.com/binnacle-dev/binnacle/pkg/apis/pages/v1"
)

// Seen says when a cluster was heard of. Times are milliseconds.
type Seen struct {
	// LastSeen is when the last report arrived, 0 where there is no cluster.
	LastSeen int64
	// Changed is since when the cluster is reachable, or silent.
	Changed int64
	// Interval is after how many seconds the cluster was asked to report again.
	Interval int32
	// Silent says that the cluster has been silent for longer than its grace period.
	Silent bool
}

const second = int64(time.Second / time.Millisecond)

// encodeSeen returns the page that holds the slots.
func encodeSeen(slots []Seen) *pagesv1.SeenPage {
	used := len(slots)
	for used > 0 && slots[used-1].LastSeen == 0 {
		used--
	}
	page := &pagesv1.SeenPage{}
	for _, s := range slots[:used] {
		page.Base = max(page.Base, s.LastSeen, s.Changed)
	}
	// Whole seconds, so that the times that do not change keep their encoding for longer.
	page.Base = (page.Base/second + 1) * second
	for _, s := range slots[:used] {
		if s.LastSeen == 0 {
			page.LastSeen = binary.AppendVarint(page.LastSeen, 0)
			page.Interval = binary.AppendVarint(page.Interval, 0)
			page.Changed = binary.AppendVarint(page.Changed, 0)
			continue
		}
		page.LastSeen = binary.AppendVarint(page.LastSeen, page.Base-s.LastSeen)
		page.Interval = binary.AppendVarint(page.Interval, int64(s.Interval))
		changed := (page.Base - s.Changed + second - 1) / second
		if s.Silent {
			changed = -changed
		}
		page.Changed = binary.AppendVarint(page.Changed, changed)
	}
	return page
}

var errColumns = errors.New("the columns of a seen page do not fit each other")

// decodeSeen returns the slots of a page.
func decodeSeen(page *pagesv1.SeenPage) ([]Seen, error) {
	var slots []Seen
	last, interval, changed := page.LastSeen, page.Interval, page.Changed
	for len(last) > 0 {
		var ago, seconds, since int64
		var ok bool
		if ago, last, ok = varint(last); !ok {
			return nil, errColumns
		}
		if seconds, interval, ok = varint(interval); !ok {
			return nil, errColumns
		}
		if since, changed, ok = varint(changed); !ok {
			return nil, errColumns
		}
		if len(slots) == SlotsPerPage {
			return nil, errColumns
		}
		if ago == 0 {
			slots = append(slots, Seen{})
			continue
		}
		s := Seen{LastSeen: page.Base - ago, Interval: int32(seconds), Silent: since < 0}
		if s.Silent {
			since = -since
		}
		s.Changed = page.Base - since*second
		slots = append(slots, s)
	}
	if len(interval) > 0 || len(changed) > 0 {
		return nil, errColumns
	}
	return slots, nil
}

func varint(data []byte) (value int64, rest []byte, ok bool) {
	value, n := binary.Varint(data)
	if n <= 0 {
		return 0, nil, false
	}
	return value, data[n:], true
}
