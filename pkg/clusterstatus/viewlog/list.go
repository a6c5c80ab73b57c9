package viewlog

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// GetList implements storage.Interface.
func (s *store) GetList(ctx context.Context, key string, o storage.ListOptions, out runtime.Object) error {
	list, ok := out.(*binnacle.ClusterStatusList)
	if !ok {
		return fmt.Errorf("the view has lists of ClusterStatus, not %T", out)
	}
	scope, err := s.scope(key, o.Recursive)
	if err != nil {
		return err
	}
	at, from, err := s.stateFor(ctx, s.prefix+scope, o)
	if err != nil {
		return err
	}
	limit := o.Predicate.Limit
	if o.ResourceVersion == "0" && o.Predicate.Continue == "" {
		// Who takes any state gets all of it, as from a cache: the pages after the first could not be had from any state.
		limit = 0
	}
	match := newMatcher(scope, !o.Recursive, o.Predicate, s.Attributes)
	page, err := collect(&match, at.snapshot, strings.TrimPrefix(from, s.prefix), limit)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	token, remaining, err := storage.PrepareContinueToken(s.prefix+page.last, s.prefix+scope, int64(at.rv), page.count, page.more, o)
	if err != nil {
		return err
	}
	list.Items = page.items
	if err := s.versioner.UpdateList(list, at.rv, token, remaining); err != nil {
		return err
	}
	o.Predicate.SetShardInfoOnList(list)
	return nil
}

// stateFor returns the state that a list asks for, and the key of the registry to begin with.
func (s *store) stateFor(ctx context.Context, prefix string, o storage.ListOptions) (at read, from string, err error) {
	exact, from, err := storage.ValidateListOptions(prefix, s.versioner, o)
	if err != nil {
		return read{}, "", err
	}
	if exact > 0 && o.Predicate.Continue != "" && Revision(uint64(exact)) == 0 {
		// A version of ours is never so small: the token is that of another kind, whose versions are etcd's revisions.
		return read{}, "", apierrors.NewBadRequest("continue key is not valid: it is of another resource")
	}
	if exact != 0 {
		at, err = s.exactly(ctx, uint64(exact))
		if errors.Is(err, errTooOld) && o.Predicate.Continue != "" {
			return read{}, "", tooOldToContinue(from, prefix)
		}
		if errors.Is(err, errTooOld) {
			err = apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
		}
		return at, from, err
	}
	if o.Predicate.Continue != "" {
		// The token says to go on with what there is now.
		at, err = s.consistent(ctx)
		return at, from, err
	}
	at, err = s.atLeast(ctx, o.ResourceVersion)
	return at, from, err
}

// exactly returns the state at a resourceVersion, which may still be to come.
func (s *store) exactly(ctx context.Context, rv uint64) (read, error) {
	if err := s.reach(ctx, rv); err != nil {
		return read{}, err
	}
	return s.log.exactly(rv)
}

// page is a part of a list.
type page struct {
	items []binnacle.ClusterStatus
	// last is the key of the last item. With more, others follow.
	last string
	more bool
	// count is how many there are from the beginning of the page on. It is right only without a selector.
	count int64
}

// collect returns the objects that are asked for from a key on, up to a limit if there is one.
func collect(m *matcher, s *snapshot, from string, limit int64) (page, error) {
	p := page{items: []binnacle.ClusterStatus{}}
	if !m.one && limit <= 0 && m.all && m.scope == "" {
		p.items = make([]binnacle.ClusterStatus, 0, s.tree.Len())
	}
	var failed error
	m.each(s, from, func(e *entry) bool {
		selected, err := m.selects(e)
		if err != nil {
			failed = err
			return false
		}
		if !selected {
			return true
		}
		p.count++
		if limit > 0 && int64(len(p.items)) == limit {
			p.more = true
			return m.all // Only then the rest is counted.
		}
		if !p.more {
			p.items, p.last = append(p.items, *e.object), e.key
		}
		return true
	})
	return p, failed
}
