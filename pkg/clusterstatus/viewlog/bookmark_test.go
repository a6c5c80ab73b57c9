package viewlog

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	utilflowcontrol "k8s.io/apiserver/pkg/util/flowcontrol"
)

// synctestSleep lets time pass in a bubble.
func synctestSleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// TestBookmarks: a watcher that allows them gets one each minute and one shortly before its end, with what is processed then.
func TestBookmarks(t *testing.T) {
	for name, tc := range map[string]struct {
		timeout time.Duration
		want    []string
	}{
		"no end":        {0, []string{"1m0s 1", "2m0s 2", "3m0s 3", "4m0s 4"}},
		"an end":        {150 * time.Second, []string{"1m0s 1", "2m0s 2", "2m28s 2"}},
		"a short watch": {10 * time.Second, []string{"8s 0"}},
		"too short":     {time.Second, nil},
		"just a minute": {time.Minute, []string{"58s 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				if tc.timeout > 0 {
					ctx, cancel = context.WithTimeout(t.Context(), tc.timeout)
				}
				defer cancel()
				f := newFixture(t, wide)
				f.reset(100)
				w := f.watch(ctx, testPrefix, options(rv(100, 0), bookmarks, selecting("ring=one", "")))
				began, done := time.Now(), make(chan []string)
				go func() {
					var got []string
					for e := range w.ResultChan() {
						var at uint64
						if _, err := fmt.Sscanf(short(e), "BOOKMARK %d", &at); err != nil {
							t.Error(short(e), err)
						}
						got = append(got, fmt.Sprintf("%v %d", time.Since(began), Revision(at)-100))
					}
					done <- got
				}()
				// Neither what passes without a change nor what is not selected wakes the reader, but bookmarks know of it.
				for minute := range 4 {
					time.Sleep(time.Minute - time.Second)
					if minute%2 == 0 {
						f.append(int64(101+minute), changed("ns/a", fmt.Sprint(minute)))
					} else {
						f.log.Progress(int64(101 + minute))
					}
					time.Sleep(time.Second)
				}
				time.Sleep(time.Second)
				cancel()
				if diff := cmp.Diff(tc.want, <-done); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// TestBookmarkOfABusyWatcher: one that never comes to rest is told too how far it is.
func TestBookmarkOfABusyWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, wide)
		f.reset(10)
		w := f.watch(t.Context(), testPrefix, options(rv(10, 0), bookmarks))
		f.append(11, changesOf(numbered("ns", 5*watchBatch, "Ready"))...)
		synctestSleep(2 * bookmarkEvery)
		for n := 1; ; n++ {
			got := w.next()
			var at uint64
			if _, err := fmt.Sscanf(got, "BOOKMARK %d", &at); err != nil {
				continue
			}
			// n-1 events went before it, and it must not say more than them.
			if at != Marker(10)+uint64(n) || n > 5*watchBatch {
				t.Errorf("event %d is %s", n, got)
			}
			return
		}
	})
}

func TestNoBookmarksUnlessAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, wide)
		f.reset(10)
		w := f.watch(t.Context(), testPrefix, options(rv(10, 0)))
		synctestSleep(time.Hour)
		w.silent()
	})
}

type signal chan struct{}

func (s signal) Signal() { close(s) }
func (s signal) Wait()   { <-s }

// TestWatchInitialized: priority and fairness counts a watch as begun once the initial events are sent, not before.
func TestWatchInitialized(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, wide)
		f.reset(10, numbered("ns", 3*watchBatch, "Ready")...)
		begun := make(signal)
		w := f.watch(utilflowcontrol.WithInitializationSignal(t.Context(), begun), testPrefix, options("0"))
		synctest.Wait()
		select {
		case <-begun:
			t.Error("it has begun before the initial events are sent")
		default:
		}
		w.take(3 * watchBatch)
		<-begun
	})
}
