package viewlog

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// randomReader is one of the watchers.
type randomReader struct {
	t      *testing.T
	f      *fixture
	m      *model
	random *rand.Rand
	ctx    context.Context
	choice choice
	// at is how far it is, have what it has then, all what there is then.
	at        uint64
	have, all map[string]value
	done      bool
}

func (r *randomReader) options(rv string, more ...func(*storage.ListOptions)) (string, storage.ListOptions) {
	label, field, key := "", "", testPrefix
	if r.choice.ring != "" {
		label = "ring=" + r.choice.ring
	}
	if r.choice.phase != "" {
		field = binnacle.SelectorPhase + "=" + r.choice.phase
	}
	if r.choice.namespace != "" {
		key += "/" + r.choice.namespace
	}
	return key, options(rv, append(more, selecting(label, field))...)
}

// session is one watch: from where the last ended, from a list, from a resourceVersion of before, or with a list in it.
func (r *randomReader) session() {
	var more []func(*storage.ListOptions)
	resourceVersion := ""
	switch kind := r.random.IntN(5); {
	case kind == 0:
		r.seek(r.m.any(r.random.IntN(1000)))
	case kind == 1 || r.at == 0:
		key, o := r.options(pick(r.random, "", "0"))
		list, err := r.f.list(key, o)
		if err != nil {
			r.t.Error(err)
			return
		}
		rv, _ := strconv.ParseUint(list.ResourceVersion, 10, 64)
		r.seek(rv)
		r.same(valuesOf(list))
	case kind == 2:
		more, resourceVersion = append(more, initialEvents(true), bookmarks), pick(r.random, "", "0", format(r.at))
	}
	if more == nil {
		resourceVersion = format(r.at)
	}
	key, o := r.options(resourceVersion, more...)
	w, err := r.f.storage.Watch(r.ctx, key, o)
	if err != nil {
		r.t.Error(err)
		return
	}
	defer w.Stop()
	if more == nil || r.initial(w) {
		r.follow(w, r.random.IntN(400))
	}
}

func (r *randomReader) seek(rv uint64) {
	r.at, r.all = rv, r.m.at(rv)
	r.have = r.choice.of(r.all)
}

func (r *randomReader) same(values map[string]value) {
	if diff := cmp.Diff(r.have, values, cmp.AllowUnexported(value{})); diff != "" {
		r.t.Errorf("%+v at %d: %s", r.choice, r.at, diff)
	}
}

// initial reads what a watch begins with.
func (r *randomReader) initial(w watch.Interface) bool {
	values := map[string]value{}
	for e := range w.ResultChan() {
		switch e.Type {
		case watch.Added:
			values[keyOf(unwrap(e))] = valueOf(unwrap(e))
		case watch.Bookmark:
			rv, _ := strconv.ParseUint(unwrap(e).ResourceVersion, 10, 64)
			if rv < r.at && r.at != 0 {
				// Any state may be older than what was seen before, but the log has only one.
				r.t.Errorf("went back from %d to %d", r.at, rv)
			}
			r.seek(rv)
			r.same(values)
			return true
		default:
			if short(e) != "ERROR 410 Expired" {
				r.t.Error(short(e))
			}
			return false
		}
	}
	return false
}

// follow reads up to n events, and compares them with those of the model one by one.
func (r *randomReader) follow(w watch.Interface, n int) {
	for range n {
		next, want, ok := r.expect()
		if !ok {
			return
		}
		select {
		case e := <-w.ResultChan():
			if e.Type == watch.Error && short(e) == "ERROR 410 Expired" {
				r.at = 0
				return
			}
			got := fmt.Sprintf("%s %s %s", e.Type, keyOf(unwrap(e)), unwrap(e).ResourceVersion)
			if wanted := fmt.Sprintf("%s %s %d", want, next.key, next.rv); got != wanted {
				r.t.Errorf("%+v after %d: got %s, want %s", r.choice, r.at, got, wanted)
				return
			}
			r.apply(e.Type, keyOf(unwrap(e)), valueOf(unwrap(e)))
			next.applyTo(r.all)
			r.at = next.rv
		case <-r.ctx.Done():
			return
		}
	}
}

func (r *randomReader) apply(typ watch.EventType, key string, v value) {
	if typ == watch.Deleted {
		delete(r.have, key)
	} else {
		r.have[key] = v
	}
}

// expect goes on in the model to the next record that the reader must get an event of. A load ends the watch, and the end of the model all.
func (r *randomReader) expect() (record, watch.EventType, bool) {
	for r.ctx.Err() == nil && !r.t.Failed() {
		next, found, final := r.m.after(r.at)
		switch {
		case final:
			r.same(r.choice.of(r.m.at(r.at)))
			key, o := r.options("")
			list, err := r.f.list(key, o)
			if err != nil {
				r.t.Error(err)
			}
			r.same(valuesOf(list))
			r.done = true
			return record{}, "", false
		case !found:
			time.Sleep(time.Millisecond)
		case next.load != nil:
			return next, watch.Error, true
		default:
			if want := r.choice.expected(r.all, next); want != "" {
				return next, want, true
			}
			next.applyTo(r.all)
			r.at = next.rv
		}
	}
	return record{}, "", false
}
