package viewlog

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// TestRandom lets a writer add random revisions, and load the view anew now and then, while 50 watchers with random selectors begin, end and
// go on at random resourceVersions, and others list. Each watcher must get exactly the events that the model has for it, in their order; what
// each then has, and each list, must be the state at that resourceVersion. VIEWLOG_SEED repeats a run as far as the scheduler does.
func TestRandom(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if given := os.Getenv("VIEWLOG_SEED"); given != "" {
		seed, _ = strconv.ParseUint(given, 10, 64)
	}
	t.Logf("seed %d", seed)
	f, m := newFixture(t, Limits{Events: 3000, Bytes: 1 << 30}), &model{}
	load(f, m, 1, map[string]value{})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var readers sync.WaitGroup
	sessions := make([]int, 50)
	for i := range sessions {
		readers.Go(func() {
			r := &randomReader{t: t, f: f, m: m, random: rand.New(rand.NewPCG(seed, uint64(i))), ctx: ctx}
			r.choice = choice{namespace: pick(r.random, "", "", "n0", "n1"), ring: pick(r.random, "", "", "a", "b"), phase: pick(r.random, "", "", "1")}
			for !r.done && ctx.Err() == nil && !t.Failed() {
				r.session()
				sessions[i]++
			}
			if !r.done && !t.Failed() {
				t.Errorf("reader %d did not come to the end", i)
			}
		})
	}
	for i := range 4 {
		readers.Go(func() { exactLists(ctx, f, m, rand.New(rand.NewPCG(seed, uint64(100+i)))) })
	}
	writeRandomly(f, m, rand.New(rand.NewPCG(seed, 1000)))
	readers.Wait()
	noneLeft(t)
	total := 0
	for _, n := range sessions {
		total += n
	}
	t.Logf("%d watches; %+v", total, f.log.Stats())
}

func pick(random *rand.Rand, from ...string) string { return from[random.IntN(len(from))] }

func load(f *fixture, m *model, revision int64, state map[string]value) {
	m.add(false, record{rv: Marker(revision), load: state})
	f.reset(revision, objectsOf(state)...)
}

func objectsOf(state map[string]value) []*binnacle.ClusterStatus {
	var objects []*binnacle.ClusterStatus
	for _, key := range sortedKeys(state) {
		objects = append(objects, state[key].object(key))
	}
	return objects
}

// writeRandomly writes the model first, so that no reader sees what it does not know.
func writeRandomly(f *fixture, m *model, random *rand.Rand) {
	revision := int64(1)
	for step := range 300 {
		revision += 1 + int64(random.IntN(3))
		switch {
		case step%70 == 69:
			state := m.at(Marker(revision))
			for key := range state {
				if random.IntN(20) == 0 {
					delete(state, key)
				}
			}
			load(f, m, revision, state)
		case random.IntN(5) == 0:
			f.log.Progress(revision)
			f.etcd.Store(revision)
		default:
			records, changes := randomRevision(m, random, revision)
			m.add(false, records...)
			f.append(revision, changes...)
		}
		if random.IntN(3) == 0 {
			time.Sleep(time.Duration(random.IntN(3)) * time.Millisecond)
		}
	}
	m.add(true)
}

func randomRevision(m *model, random *rand.Rand, revision int64) (records []record, changes []Change) {
	state := m.at(Marker(revision))
	for i := range 1 + random.IntN(pickInt(random, 3, 300)) {
		key := fmt.Sprintf("n%d/c%d", random.IntN(3), random.IntN(60))
		rv, _ := RV(revision, i+1)
		r := record{rv: rv, key: key}
		c := Change{Key: key}
		if _, found := state[key]; !found || random.IntN(6) > 0 {
			r.value = &value{phase: strconv.Itoa(random.IntN(3)), ring: pick(random, "a", "b", "c")}
			c.Object = r.value.object(key)
		}
		r.applyTo(state)
		records, changes = append(records, r), append(changes, c)
	}
	return records, changes
}

func pickInt(random *rand.Rand, from ...int) int { return from[random.IntN(len(from))] }

// exactLists lists at random resourceVersions until the model is final.
func exactLists(ctx context.Context, f *fixture, m *model, random *rand.Rand) {
	for ctx.Err() == nil && !f.t.Failed() {
		if _, found, final := m.after(m.any(0)); !found && final {
			return
		}
		at := m.any(random.IntN(2000)) + uint64(random.IntN(2))
		list, err := f.list(testPrefix, options(format(at), matching(metav1.ResourceVersionMatchExact)))
		if code(err) == 410 {
			continue
		}
		if err != nil {
			f.t.Error(err)
			return
		}
		if diff := cmp.Diff(m.at(at), valuesOf(list), cmp.AllowUnexported(value{})); diff != "" {
			f.t.Errorf("list at %d: %s", at, diff)
		}
	}
}

func valuesOf(list *binnacle.ClusterStatusList) map[string]value {
	values := map[string]value{}
	for i := range list.Items {
		values[keyOf(&list.Items[i])] = valueOf(&list.Items[i])
	}
	return values
}

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
