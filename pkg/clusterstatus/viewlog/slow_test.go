package viewlog

import (
	"fmt"
	"strconv"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/watch"
)

// TestOneNeverReads: of 200 watchers, one that never reads is ended alone. It holds neither memory nor the others up, and all of them get
// every event. It can go on by a list.
func TestOneNeverReads(t *testing.T) {
	const watchers, revisions, each = 200, 40, 100
	f := newFixture(t, Limits{Events: 2000, Bytes: 1 << 30})
	f.reset(10, numbered("ns", each, "Ready")...)
	slow := f.watch(t.Context(), testPrefix, options(rv(10, 0), bookmarks))
	var done sync.WaitGroup
	reached := make([]chan int64, watchers-1)
	for i := range reached {
		w := f.watch(t.Context(), testPrefix, options(rv(10, 0)))
		reached[i] = make(chan int64, revisions)
		done.Go(func() {
			last := Marker(10)
			for n := 1; n <= revisions*each; n++ {
				e, ok := <-w.ResultChan()
				if !ok || e.Type != watch.Modified {
					t.Errorf("watcher %d: event %d is %v", i, n, e)
					close(reached[i])
					return
				}
				rv, _ := strconv.ParseUint(unwrap(e).ResourceVersion, 10, 64)
				if rv <= last {
					t.Errorf("watcher %d: %d after %d", i, rv, last)
				}
				if last = rv; n%each == 0 {
					reached[i] <- Revision(rv)
				}
			}
		})
	}
	for revision := int64(11); revision < 11+revisions; revision++ {
		f.append(revision, changesOf(numbered("ns", each, fmt.Sprint(revision)))...)
		// The others keep up, so that none of them may be ended.
		for i := range reached {
			if got := <-reached[i]; got != revision {
				t.Fatalf("watcher %d has reached %d, want %d", i, got, revision)
			}
		}
	}
	done.Wait()
	eventually(t, "the end of the slow one alone", func() bool {
		stats := f.log.Stats()
		return stats.TooSlow == 1 && stats.Watchers == watchers-1
	})
	// What waits for the slow reader is no more than its channel, which ends with the error.
	for n := 0; ; n++ {
		if got := slow.next(); got == "ERROR 410 Expired" {
			break
		} else if n > watchBatch {
			t.Fatalf("event %d is still %s", n, got)
		}
	}
	if got := slow.next(); got != "closed" {
		t.Errorf("then %s", got)
	}
	if list := f.mustList(testPrefix, options("")); len(list.Items) != each {
		t.Errorf("%d objects", len(list.Items))
	}
}

// TestSlowInitialEvents: one that does not even read what it begins with is ended too.
func TestSlowInitialEvents(t *testing.T) {
	f := newFixture(t, Limits{Events: 100, Bytes: 1 << 30})
	f.reset(10, numbered("ns", 1000, "Ready")...)
	slow := f.watch(t.Context(), testPrefix, options("", initialEvents(true), bookmarks))
	eventually(t, "a full channel", func() bool { return len(slow.ResultChan()) == watchBatch })
	f.append(11, changesOf(numbered("ns", 101, "new"))...)
	eventually(t, "its end", func() bool { return f.log.Stats().Watchers == 0 })
	for n := 0; slow.next() != "ERROR 410 Expired"; n++ {
		if n > watchBatch {
			t.Fatal("it has more than was waiting")
		}
	}
}

// TestManyExcluded: watchers that want nearly nothing get what they want, and adding events does not wait for any of them.
func TestManyExcluded(t *testing.T) {
	f := newFixture(t, wide)
	f.reset(10)
	var ws []*reader
	for i := range 200 {
		if i%2 == 0 {
			ws = append(ws, f.watch(t.Context(), testPrefix+"/other", options(rv(10, 0))))
		} else {
			ws = append(ws, f.watch(t.Context(), testPrefix, options(rv(10, 0), selecting("ring=one", ""))))
		}
	}
	for revision := int64(11); revision < 15; revision++ {
		f.append(revision, changesOf(numbered("ns", 1000, fmt.Sprint(revision)))...)
	}
	f.append(15, changed("other/a", "Ready", "ring", "one"))
	for _, w := range ws {
		if got, want := w.next(), "ADDED other/a Ready "+rv(15, 1); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
}
