package viewlog

import (
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/storage"
)

// matcher says which objects a request asks for.
type matcher struct {
	// scope is the key of one object, or what the keys of all of them begin with.
	scope      string
	one        bool
	predicate  storage.SelectionPredicate
	all        bool
	attributes storage.AttrFunc
}

func newMatcher(scope string, one bool, predicate storage.SelectionPredicate, attributes storage.AttrFunc) matcher {
	if predicate.Label == nil {
		predicate.Label = labels.Everything()
	}
	if predicate.Field == nil {
		predicate.Field = fields.Everything()
	}
	return matcher{scope: scope, one: one, predicate: predicate, all: predicate.Empty(), attributes: attributes}
}

func (m *matcher) key(key string) bool {
	if m.one {
		return key == m.scope
	}
	return strings.HasPrefix(key, m.scope)
}

// selects says whether a version of an object is asked for by its content. One that is not there is not.
func (m *matcher) selects(e *entry) (bool, error) {
	if e == nil {
		return false, nil
	}
	if m.all {
		return true, nil
	}
	if ok, err := m.predicate.MatchesSharding(e.object); err != nil || !ok {
		return false, err
	}
	labels, fields, err := e.attributes(m.attributes)
	if err != nil {
		return false, err
	}
	return m.predicate.MatchesObjectAttributes(labels, fields), nil
}

// each visits the entries of a snapshot that are asked for by key, in the order of their keys, from a key on.
func (m *matcher) each(s *snapshot, from string, visit func(*entry) bool) {
	if !m.one {
		s.each(m.scope, from, visit)
	} else if e := s.get(m.scope); e != nil && e.key >= from {
		visit(e)
	}
}
