package viewlog

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/storage"
)

// TestWatchBegins: what a watch begins with, and from where on it goes.
func TestWatchBegins(t *testing.T) {
	a, b, now := "ADDED ns/a NotReady "+rv(12, 1), "ADDED ns/b Ready "+rv(12, 2), "BOOKMARK "+rv(14, 0)+" end"
	for name, tc := range map[string]struct {
		options  storage.ListOptions
		empty    bool
		down     bool
		code     int32
		want     []string
		barriers int64
	}{
		"legacy, unset":                   {options: options(""), want: []string{a, b}, barriers: 1},
		"legacy, any":                     {options: options("0"), want: []string{a, b}},
		"legacy, nothing there":           {options: options("0"), empty: true},
		"list, unset":                     {options: options("", initialEvents(true), bookmarks), want: []string{a, b, now}, barriers: 1},
		"list, any":                       {options: options("0", initialEvents(true), bookmarks), want: []string{a, b, now}},
		"list, not older than the past":   {options: options(rv(10, 0), initialEvents(true), bookmarks), want: []string{a, b, now}},
		"list, not older than before all": {options: options("1", initialEvents(true), bookmarks), want: []string{a, b, now}},
		"list, nothing there": {options: options("", initialEvents(true), bookmarks), empty: true,
			want: []string{"BOOKMARK " + rv(14, 0) + " end"}, barriers: 1},
		"list, nothing selected": {options: options("", initialEvents(true), bookmarks, selecting("ring=one", "")), want: []string{now}, barriers: 1},
		"list, selected":         {options: options("", initialEvents(true), bookmarks, selecting("", "status.phase=Ready")), want: []string{b, now}, barriers: 1},
		"list without bookmarks": {options: options("", initialEvents(true)), want: []string{a, b}, barriers: 1},
		"no list, unset":         {options: options("", initialEvents(false)), barriers: 1},
		"no list, any":           {options: options("0", initialEvents(false))},
		"from the load":          {options: options(rv(10, 0)), want: []string{"MODIFIED ns/a NotReady " + rv(12, 1), "ADDED ns/b Ready " + rv(12, 2)}},
		"from inside a revision": {options: options(rv(12, 1)), want: []string{"ADDED ns/b Ready " + rv(12, 2)}},
		"from now":               {options: options(rv(14, 0))},
		"too old":                {options: options("1"), want: []string{"ERROR 410 Expired", "closed"}},
		"just too old":           {options: options(rv(10, 500)), want: []string{"ERROR 410 Expired", "closed"}},
		"malformed":              {options: options("abc"), code: 400},
		"list, the future":       {options: options(rv(15, 1), initialEvents(true), bookmarks), want: []string{"ERROR 504 Timeout", "closed"}},
		"list while etcd is down": {options: options("", initialEvents(true), bookmarks), down: true, barriers: 1,
			want: []string{"ERROR 504 Timeout", "closed"}},
		"any while etcd is down":      {options: options("0", initialEvents(true), bookmarks), down: true, want: []string{a, b, now}},
		"from now while etcd is down": {options: options(rv(14, 0)), down: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, wide)
				if tc.empty {
					f.reset(14)
				} else {
					f.reset(10, object("ns/a", "Ready"))
					f.append(12, changed("ns/a", "NotReady"), changed("ns/b", "Ready"))
					f.append(14)
				}
				if tc.down {
					f.fail(apierrors.NewTimeoutError("etcd does not answer", 1))
				}
				ctx := t.Context()
				stream, err := f.storage.Watch(ctx, testPrefix, tc.options)
				if code(err) != tc.code || f.barriers.Load() != tc.barriers {
					t.Fatalf("%d barriers, error %v", f.barriers.Load(), err)
				}
				if err != nil {
					return
				}
				defer stream.Stop()
				w := &reader{t, stream}
				got := w.take(len(tc.want))
				if diff := cmp.Diff(tc.want, got, cmp.Transformer("none", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
					t.Fatal(diff)
				}
				if len(got) > 0 && got[len(got)-1] == "closed" {
					return
				}
				synctest.Wait()
				w.silent()
				f.append(15, changed("ns/z", "Ready", "ring", "one"))
				if got, want := w.next(), "ADDED ns/z Ready "+rv(15, 1); got != want {
					t.Errorf("then %s, want %s", got, want)
				}
			})
		})
	}
}

// TestWatchResumesInsideARevision: one revision makes many events, and a watch goes on between any two of them.
func TestWatchResumesInsideARevision(t *testing.T) {
	f := newFixture(t, wide)
	f.reset(10, numbered("ns", 500, "old")...)
	f.append(11, changesOf(numbered("ns", 500, "new"))...)
	f.append(12, changed("ns/end", "Ready"))
	for _, seen := range []int{1, 2, 250, 499, 500} {
		w := f.watch(t.Context(), testPrefix, options(rv(11, seen)))
		for ordinal := seen + 1; ordinal <= 500; ordinal++ {
			if got, want := w.next(), fmt.Sprintf("MODIFIED ns/c%05d new %s", ordinal-1, rv(11, ordinal)); got != want {
				t.Fatalf("after %d: got %s, want %s", seen, got, want)
			}
		}
		if got, want := w.next(), "ADDED ns/end Ready "+rv(12, 1); got != want {
			t.Fatalf("after %d: got %s, want %s", seen, got, want)
		}
	}
}

// TestWatchScopes: a watch has the events of its namespace or of its object, and of no other that only begins like it.
func TestWatchScopes(t *testing.T) {
	for name, tc := range map[string]struct {
		key       string
		recursive bool
		want      []int
	}{
		"all":         {testPrefix, true, []int{1, 2, 3, 4}},
		"a namespace": {testPrefix + "/ns", true, []int{1, 2, 4}},
		"an object":   {testPrefix + "/ns/a", false, []int{1, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, wide)
			f.reset(10)
			o := options(rv(10, 0))
			o.Recursive = tc.recursive
			w := f.watch(t.Context(), tc.key, o)
			f.append(11, changed("ns/a", "Ready"), changed("ns/ab", "Ready"), changed("ns2/a", "Ready"), Change{Key: "ns/a"})
			for _, ordinal := range tc.want {
				if got := w.next(); !strings.HasSuffix(got, " "+rv(11, ordinal)) {
					t.Errorf("got %s, want event %d", got, ordinal)
				}
			}
		})
	}
}

// TestWatchFromTheFuture: it is silent until its resourceVersion is reached, without a bookmark, and then has what comes after it.
func TestWatchFromTheFuture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, wide)
		f.reset(10)
		w := f.watch(t.Context(), testPrefix, options(rv(12, 2), bookmarks))
		f.append(11, changed("ns/a", "Ready"))
		f.append(12, changed("ns/a", "1"), changed("ns/b", "2"), changed("ns/c", "3"))
		if got, want := w.next(), "ADDED ns/c 3 "+rv(12, 3); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		w = f.watch(t.Context(), testPrefix, options(rv(14, 2), bookmarks))
		synctestSleep(3 * bookmarkEvery)
		w.silent()
		f.log.Progress(15)
		synctestSleep(bookmarkEvery)
		if got, want := w.next(), "BOOKMARK "+rv(15, 0); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// TestWatchEnds: a load makes every watch start anew, and a suspension ends them with what a request would be answered.
func TestWatchEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		end  func(*fixture)
		want string
	}{
		"a load":                {func(f *fixture) { f.reset(20) }, "ERROR 410 Expired"},
		"a load then events":    {func(f *fixture) { f.reset(20); f.append(21, changed("ns/x", "Ready")) }, "ERROR 410 Expired"},
		"a suspension":          {func(f *fixture) { f.log.Suspend(errors.New("an epoch of another")) }, "ERROR 503 ServiceUnavailable"},
		"a suspension, a load":  {func(f *fixture) { f.log.Suspend(errors.New("an epoch")); f.reset(20) }, "ERROR 503 ServiceUnavailable"},
		"a load in the history": {func(f *fixture) { f.reset(10) }, "ERROR 410 Expired"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, wide)
			f.reset(10, numbered("ns", 3*watchBatch, "Ready")...)
			idle := f.watch(t.Context(), testPrefix, options(rv(10, 0)))
			// This one waits for its reader, in the middle of what it begins with.
			blocked := f.watch(t.Context(), testPrefix, options("0"))
			eventually(t, "a full channel", func() bool { return len(blocked.ResultChan()) == watchBatch })
			tc.end(f)
			eventually(t, "the end of both, read or not", func() bool { return f.log.Stats().Watchers == 0 })
			if got := idle.take(2); got[0] != tc.want || got[1] != "closed" {
				t.Errorf("idle: %v", got)
			}
			if got := blocked.take(watchBatch + 2)[watchBatch:]; got[0] != tc.want || got[1] != "closed" {
				t.Errorf("blocked: after what waited for it, %v", got)
			}
			noneLeft(t)
		})
	}
}

// TestWatchStops: nothing is left of a watch whose reader goes away, whether it waits for events or for the reader.
func TestWatchStops(t *testing.T) {
	f := newFixture(t, Limits{Events: 10, Bytes: 1 << 30})
	f.reset(10, numbered("ns", 3*watchBatch, "Ready")...)
	var stops []func()
	for range 20 {
		blocked := f.watch(t.Context(), testPrefix, options("0"))
		stops = append(stops, blocked.Stop, f.watch(t.Context(), testPrefix, options(rv(10, 0))).Stop)
		eventually(t, "a full channel", func() bool { return len(blocked.ResultChan()) == watchBatch })
	}
	// Those have an error to tell that nobody hears.
	f.append(11, changesOf(numbered("ns", 20, "new"))...)
	eventually(t, "the end of all that fell behind", func() bool { return f.log.Stats().Watchers == 0 })
	for range 20 {
		blocked := f.watch(t.Context(), testPrefix, options("0"))
		stops = append(stops, blocked.Stop, f.watch(t.Context(), testPrefix, options(rv(11, 0))).Stop)
	}
	for _, stop := range stops {
		stop()
		stop()
	}
	noneLeft(t)
	if got := f.log.Stats().Watchers; got != 0 {
		t.Errorf("%d watchers are counted", got)
	}
}

// TestNextOfWhatIsGone: a watcher that comes too late for its events is told so, and one of another generation gets none of this one.
func TestNextOfWhatIsGone(t *testing.T) {
	l := New(Limits{Events: 3, Bytes: 1 << 30})
	l.Reset(10, nil)
	first := l.generation
	if err := l.Append(11, changesOf(numbered("ns", 5, "Ready"))); err != nil {
		t.Fatal(err)
	}
	for position, want := range map[int64]error{0: errTooOld, 1: errTooOld, 2: nil, 5: nil} {
		n, _, _, err := l.next(make([]*event, 10), first, position)
		if !errors.Is(err, want) || err == nil && n != int(5-position) {
			t.Errorf("from %d: %d events, %v", position, n, err)
		}
	}
	l.Reset(12, nil)
	if _, _, _, err := l.next(make([]*event, 10), first, 5); !errors.Is(err, errEnded) {
		t.Errorf("after a load: %v", err)
	}
}
