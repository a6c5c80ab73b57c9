package viewlog

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/storage"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

func (f *fixture) get(key, resourceVersion string) (*binnacle.ClusterStatus, error) {
	o := &binnacle.ClusterStatus{}
	return o, f.storage.Get(context.Background(), testPrefix+"/"+key, storage.GetOptions{ResourceVersion: resourceVersion}, o)
}

func TestGet(t *testing.T) {
	for name, tc := range map[string]struct {
		key, rv  string
		down     bool
		code     int32
		phase    string
		barriers int64
		after    time.Duration
	}{
		"consistent":                     {key: "ns/a", phase: "NotReady", barriers: 1},
		"any":                            {key: "ns/a", rv: "0", phase: "NotReady"},
		"not older than the past":        {key: "ns/a", rv: rv(10, 0), phase: "NotReady"},
		"not older than before the log":  {key: "ns/a", rv: "1", phase: "NotReady"},
		"not older than now":             {key: "ns/a", rv: rv(12, 0), phase: "NotReady"},
		"not older than the future":      {key: "ns/a", rv: rv(13, 1), code: 504, after: freshWithin},
		"not older than any":             {key: "ns/a", rv: "18446744073709551615", code: 504, after: freshWithin},
		"missing":                        {key: "ns/x", code: 404, barriers: 1},
		"missing in any":                 {key: "ns/x", rv: "0", code: 404},
		"a key that begins another's":    {key: "ns", code: 404, barriers: 1},
		"malformed":                      {key: "ns/a", rv: "abc", code: 400},
		"negative":                       {key: "ns/a", rv: "-1", code: 400},
		"consistent while etcd is down":  {key: "ns/a", down: true, code: 504, barriers: 1},
		"any while etcd is down":         {key: "ns/a", rv: "0", down: true, phase: "NotReady"},
		"a known one while etcd is down": {key: "ns/a", rv: rv(12, 1), down: true, phase: "NotReady"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, wide)
				f.reset(10, object("ns/a", "Ready"), object("ns2/b", "Ready"))
				f.append(12, changed("ns/a", "NotReady"))
				if tc.down {
					f.fail(apierrors.NewTimeoutError("etcd does not answer", 1))
				}
				began := time.Now()
				o, err := f.get(tc.key, tc.rv)
				if code(err) != tc.code || string(o.Status.Phase) != tc.phase || f.barriers.Load() != tc.barriers {
					t.Errorf("phase %q, %d barriers, error %v", o.Status.Phase, f.barriers.Load(), err)
				}
				if took := time.Since(began); took != tc.after {
					t.Errorf("took %v, want %v", took, tc.after)
				}
				if tc.after > 0 && !storage.IsTooLargeResourceVersion(err) {
					t.Errorf("the error does not say that the resourceVersion is too large: %v", err)
				}
			})
		})
	}
}

// TestGetWaits: what is asked for comes while the request waits.
func TestGetWaits(t *testing.T) {
	for name, resourceVersion := range map[string]string{"consistent": "", "not older than": rv(12, 1)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, wide)
				f.reset(10, object("ns/a", "Ready"))
				f.etcd.Store(12)
				phase := make(chan string)
				go func() {
					o, err := f.get("ns/a", resourceVersion)
					if err != nil {
						t.Error(err)
					}
					phase <- string(o.Status.Phase)
				}()
				time.Sleep(2 * time.Second)
				f.append(12, changed("ns/a", "NotReady"))
				if got := <-phase; got != "NotReady" {
					t.Errorf("got %s: a stale read", got)
				}
			})
		})
	}
}

// TestGetGivesACopy: the caller may change what it gets.
func TestGetGivesACopy(t *testing.T) {
	f := newFixture(t, wide)
	f.reset(10, object("ns/a", "Ready", "ring", "one"))
	o, err := f.get("ns/a", "0")
	if err != nil {
		t.Fatal(err)
	}
	o.Labels["ring"] = "two"
	if got := f.log.Get("ns/a").Labels["ring"]; got != "one" {
		t.Errorf("the shared object has ring %s", got)
	}
}

func TestGetIgnoresNotFound(t *testing.T) {
	f := newFixture(t, wide)
	f.reset(10)
	o := object("ns/old", "Ready")
	err := f.storage.Get(t.Context(), testPrefix+"/ns/a", storage.GetOptions{IgnoreNotFound: true}, o)
	if err != nil || o.Name != "" {
		t.Errorf("%q, %v", o.Name, err)
	}
}

// TestNotServed: while the view is not loaded, or suspended, everything is answered alike, and clients know when to come again.
func TestNotServed(t *testing.T) {
	for name, prepare := range map[string]func(*Log){
		"not loaded": func(*Log) {},
		"suspended": func(l *Log) {
			l.Reset(10, nil)
			l.Suspend(errors.New("an epoch of another"))
		},
		"suspended without a reason": func(l *Log) {
			l.Reset(10, nil)
			l.Suspend(nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, wide)
			prepare(f.log)
			// The view says why first: that etcd is down as well is of no use.
			f.fail(errors.New("etcd does not answer"))
			for _, resourceVersion := range []string{"", "0", rv(10, 0), rv(99, 0)} {
				for request, do := range map[string]func() error{
					"get":   func() error { _, err := f.get("ns/a", resourceVersion); return err },
					"list":  func() error { _, err := f.list(testPrefix, options(resourceVersion)); return err },
					"exact": func() error { _, err := f.list(testPrefix, options(rv(10, 0), matching("Exact"))); return err },
					"watch": func() error {
						_, err := f.storage.Watch(t.Context(), testPrefix, options(resourceVersion))
						return err
					},
					"watch list": func() error {
						_, err := f.storage.Watch(t.Context(), testPrefix, options(resourceVersion, initialEvents(true), bookmarks))
						return err
					},
					"current": func() error { _, err := f.storage.GetCurrentResourceVersion(t.Context()); return err },
					"stats":   func() error { _, err := f.storage.Stats(t.Context()); return err },
					"ready":   f.storage.ReadinessCheck,
				} {
					seconds, delayed := apierrors.SuggestsClientDelay(do())
					if err := do(); code(err) != 503 || !delayed || seconds != 1 {
						t.Errorf("%s at %q: %v", request, resourceVersion, err)
					}
				}
			}
			f.reset(20)
			if err := f.storage.ReadinessCheck(); err != nil {
				t.Errorf("after a load: %v", err)
			}
		})
	}
}

// TestReadOnly: nothing can be written.
func TestReadOnly(t *testing.T) {
	f := newFixture(t, wide)
	f.reset(10, object("ns/a", "Ready"))
	s, o := f.storage, object("ns/a", "Ready")
	for name, err := range map[string]error{
		"create": s.Create(t.Context(), testPrefix+"/ns/b", o, nil, 0),
		"delete": s.Delete(t.Context(), testPrefix+"/ns/a", o, nil, nil, nil, storage.DeleteOptions{}),
		"update": s.GuaranteedUpdate(t.Context(), testPrefix+"/ns/a", o, false, nil, nil, nil),
	} {
		if code(err) != 405 {
			t.Errorf("%s: %v", name, err)
		}
	}
	current, err := s.GetCurrentResourceVersion(t.Context())
	stats, statsErr := s.Stats(t.Context())
	if current != Marker(10) || stats.ObjectCount != 1 || err != nil || statsErr != nil {
		t.Errorf("current %d, %v; stats %+v, %v", current, err, stats, statsErr)
	}
	if s.RequestWatchProgress(t.Context()) != nil || s.EnableResourceSizeEstimation(nil) != nil || s.CompactRevision() != 0 || s.Versioner() == nil {
		t.Error("what the library calls beside must do nothing")
	}
}
