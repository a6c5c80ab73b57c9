package viewlog

import (
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// value is what tests look at of an object.
type value struct{ phase, ring string }

func valueOf(o *binnacle.ClusterStatus) value {
	return value{string(o.Status.Phase), o.Labels["ring"]}
}

func (v value) object(key string) *binnacle.ClusterStatus {
	return object(key, v.phase, "ring", v.ring)
}

// record is one event in the model, or a load that replaced everything.
type record struct {
	rv    uint64
	key   string
	value *value // nil if it was deleted
	load  map[string]value
}

// model says in the plainest way what the log should be: all events in their order, and no bound.
type model struct {
	mu      sync.Mutex
	records []record
	final   bool
}

func (m *model) add(final bool, records ...record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records, m.final = append(m.records, records...), final
}

// after returns the first record above a resourceVersion; final says that there is none and will be none.
func (m *model) after(rv uint64) (next record, found, final bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := sort.Search(len(m.records), func(i int) bool { return m.records[i].rv > rv })
	if i == len(m.records) {
		return record{}, false, m.final
	}
	return m.records[i], true, false
}

// at returns the state at a resourceVersion.
func (m *model) at(rv uint64) map[string]value {
	m.mu.Lock()
	defer m.mu.Unlock()
	end := sort.Search(len(m.records), func(i int) bool { return m.records[i].rv > rv })
	begin := end - 1
	for m.records[begin].load == nil {
		begin--
	}
	state := maps.Clone(m.records[begin].load)
	for _, r := range m.records[begin+1 : end] {
		r.applyTo(state)
	}
	return state
}

// any returns the resourceVersion of a record, counted from the end.
func (m *model) any(back int) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.records[max(len(m.records)-1-back, 0)].rv
}

func (r record) applyTo(state map[string]value) {
	if r.value == nil {
		delete(state, r.key)
	} else {
		state[r.key] = *r.value
	}
}

// choice is what a watcher of the test selects.
type choice struct{ namespace, ring, phase string }

func (c choice) has(key string, v value, found bool) bool {
	return found && (c.namespace == "" || strings.HasPrefix(key, c.namespace+"/")) && (c.ring == "" || v.ring == c.ring) &&
		(c.phase == "" || v.phase == c.phase)
}

func (c choice) of(state map[string]value) map[string]value {
	chosen := maps.Clone(state)
	maps.DeleteFunc(chosen, func(key string, v value) bool { return !c.has(key, v, true) })
	return chosen
}

// expected returns the type of the event that a record is for who makes the choice, empty if it is none.
func (c choice) expected(state map[string]value, r record) watch.EventType {
	old, found := state[r.key]
	was, now := c.has(r.key, old, found), r.value != nil && c.has(r.key, *r.value, true)
	switch {
	case was && now:
		return watch.Modified
	case now:
		return watch.Added
	case was:
		return watch.Deleted
	default:
		return ""
	}
}

func sortedKeys(state map[string]value) []string {
	return slices.Sorted(maps.Keys(state))
}
