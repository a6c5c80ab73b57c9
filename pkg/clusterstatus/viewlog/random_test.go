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
