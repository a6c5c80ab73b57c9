package viewlog

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// TestLogStampsResourceVersions: the events of a revision are numbered in their order, a deletion too, and then the revision is complete.
func TestLogStampsResourceVersions(t *testing.T) {
	f := newFixture(t, wide)
	f.reset(10, object("ns/a", "Ready"), object("ns/b", "Ready"))
	w := f.watch(t.Context(), testPrefix, options(rv(10, 0)))
	f.append(12, changed("ns/a", "NotReady"), Change{Key: "ns/b"}, changed("ns/c", "Ready"))
	want := []string{"MODIFIED ns/a NotReady " + rv(12, 1), "DELETED ns/b Ready " + rv(12, 2), "ADDED ns/c Ready " + rv(12, 3)}
	if diff := cmp.Diff(want, w.take(3)); diff != "" {
		t.Error(diff)
	}
	for key, want := range map[string]string{"ns/a": rv(12, 1), "ns/c": rv(12, 3)} {
		if got := f.log.Get(key).ResourceVersion; got != want {
			t.Errorf("%s has resourceVersion %s, want %s", key, got, want)
		}
	}
	if f.log.Get("ns/b") != nil {
		t.Error("ns/b is still there")
	}
	if got := f.log.Stats(); got.Processed != Marker(12) || got.Floor != Marker(10) || got.Objects != 2 || got.Events != 3 || got.Watchers != 1 {
		t.Errorf("stats: %+v", got)
	}
}

func TestResetStampsTheMarker(t *testing.T) {
	l := New(wide)
	kept := object("ns/b", "Ready")
	kept.ResourceVersion = "7"
	l.Reset(10, []*binnacle.ClusterStatus{object("ns/a", "Ready"), kept})
	if got := l.Get("ns/a").ResourceVersion; got != rv(10, 0) {
		t.Errorf("an object without one got %s", got)
	}
	if got := l.Get("ns/b").ResourceVersion; got != "7" {
		t.Errorf("an object with one got %s", got)
	}
}

// TestAppendRefuses: what cannot be added changes nothing, and the log goes on after it.
func TestAppendRefuses(t *testing.T) {
	tooMany := make([]Change, MaxOrdinal+1)
	for i := range tooMany {
		tooMany[i].Key = "ns/a"
	}
	for name, tc := range map[string]struct {
		revision int64
		changes  []Change
	}{
		"a revision that is processed":    {10, []Change{changed("ns/b", "Ready")}},
		"a revision before that":          {9, []Change{changed("ns/b", "Ready")}},
		"a revision out of range":         {MaxRevision + 1, []Change{changed("ns/b", "Ready")}},
		"more events than have numbers":   {11, tooMany},
		"an object under another's key":   {11, []Change{changed("ns/b", "Ready"), {Key: "ns/x", Object: object("ns/y", "Ready")}}},
		"a deletion of what is not there": {11, []Change{changed("ns/b", "Ready"), {Key: "ns/x"}}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, wide)
			f.reset(10, object("ns/a", "Ready"))
			before := f.log.Stats()
			if err := f.log.Append(tc.revision, tc.changes); err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(before, f.log.Stats()); diff != "" || f.log.Get("ns/b") != nil {
				t.Errorf("something was added: %s", diff)
			}
			f.append(12, changed("ns/b", "NotReady"))
			if diff := cmp.Diff(map[string]string{"ns/a": "Ready", "ns/b": "NotReady"}, contents(f.mustList(testPrefix, options("")))); diff != "" {
				t.Error(diff)
			}
		})
	}
	if err := New(wide).Append(1, []Change{changed("ns/a", "Ready")}); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("before the first load: %v", err)
	}
}

func TestProgressIsMonotonic(t *testing.T) {
	f := newFixture(t, wide)
	f.log.Progress(5)
	if got := f.log.Stats().Processed; got != 0 {
		t.Errorf("before the first load: %d", got)
	}
	f.reset(10)
	for _, step := range []struct{ revision, want int64 }{{12, 12}, {11, 12}, {12, 12}, {-1, 12}, {13, 13}} {
		f.log.Progress(step.revision)
		if got := f.log.Stats().Processed; got != Marker(step.want) {
			t.Errorf("after %d: %d, want %d", step.revision, got, Marker(step.want))
		}
	}
	f.append(14)
	if got := f.log.Stats().Processed; got != Marker(14) {
		t.Errorf("after a revision without changes: %d", got)
	}
	f.log.Suspend(errors.New("an epoch of another"))
	f.log.Progress(20)
	if got := f.log.Stats().Processed; got != Marker(14) {
		t.Errorf("while not served: %d", got)
	}
}

func TestWaitFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(wide)
		if err := l.WaitFor(t.Context(), 1); !apierrors.IsServiceUnavailable(err) {
			t.Errorf("before the first load: %v", err)
		}
		l.Reset(10, nil)
		done := make(chan error, 3)
		wait := func(revision int64) { go func() { done <- l.WaitFor(t.Context(), revision) }() }
		wait(10)
		if err := <-done; err != nil {
			t.Error(err)
		}
		wait(12)
		l.Progress(11)
		synctest.Wait()
		if len(done) != 0 {
			t.Error("revision 11 is not 12")
		}
		if err := l.Append(13, []Change{changed("ns/a", "Ready")}); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		wait(14)
		synctest.Wait()
		l.Suspend(errors.New("an epoch of another"))
		if err := <-done; !apierrors.IsServiceUnavailable(err) {
			t.Errorf("when it was suspended: %v", err)
		}
		l.Reset(13, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.WaitFor(ctx, 14); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("when the context ended: %v", err)
		}
	})
}

// TestLimits: the history is bounded by both limits, the floor follows it, and the newest state is whole.
func TestLimits(t *testing.T) {
	for name, limits := range map[string]Limits{
		"events":  {Events: 100, Bytes: 1 << 30},
		"bytes":   {Events: 100_000, Bytes: 200 * (sizeOfEvent + sizeOfObject)},
		"nothing": {},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, limits)
			f.reset(1, numbered("ns", 50, "Ready")...)
			for revision := int64(2); revision < 40; revision++ {
				f.append(revision, changesOf(numbered("ns", 50, fmt.Sprint(revision)))...)
			}
			stats := f.log.Stats()
			if stats.Events > 100 || stats.Bytes > max(limits.Bytes, 1) || stats.Objects != 50 {
				t.Errorf("over the limits: %+v", stats)
			}
			if name != "nothing" && stats.Events < 90 {
				t.Errorf("less history than fits: %+v", stats)
			}
			oldest := f.log.ring.floor
			if list := f.mustList(testPrefix, options(format(oldest), matching("Exact"))); len(list.Items) != 50 {
				t.Errorf("%d objects at the floor", len(list.Items))
			}
			if _, err := f.list(testPrefix, options(format(oldest-1), matching("Exact"))); !apierrors.IsResourceExpired(err) {
				t.Errorf("below the floor: %v", err)
			}
			if len(f.log.checkpoints) > 2 {
				t.Errorf("%d checkpoints for 100 events", len(f.log.checkpoints))
			}
		})
	}
}
