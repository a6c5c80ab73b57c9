package viewlog

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/storage"
)

func TestListAtResourceVersion(t *testing.T) {
	old, now := map[string]string{"ns/a": "Ready", "ns/b": "Ready"}, map[string]string{"ns/a": "NotReady", "ns/c": "Ready"}
	between := map[string]string{"ns/a": "NotReady", "ns/b": "Ready"}
	for name, tc := range map[string]struct {
		options  storage.ListOptions
		down     bool
		code     int32
		want     map[string]string
		rv       string
		barriers int64
		after    time.Duration
	}{
		"consistent":                    {options: options(""), want: now, rv: rv(14, 0), barriers: 1},
		"any":                           {options: options("0"), want: now, rv: rv(14, 0)},
		"any, by match":                 {options: options("0", matching("NotOlderThan")), want: now, rv: rv(14, 0)},
		"legacy, the past":              {options: options(rv(10, 0)), want: now, rv: rv(14, 0)},
		"legacy, before the log":        {options: options("1"), want: now, rv: rv(14, 0)},
		"legacy, the future":            {options: options(rv(15, 1)), code: 504, after: freshWithin},
		"legacy with limit is exact":    {options: options(rv(10, 0), limited(5, "")), want: old, rv: rv(10, 0)},
		"legacy with limit, too old":    {options: options("1", limited(5, "")), code: 410},
		"not older than the past":       {options: options(rv(10, 0), matching("NotOlderThan")), want: now, rv: rv(14, 0)},
		"not older than now":            {options: options(rv(14, 0), matching("NotOlderThan")), want: now, rv: rv(14, 0)},
		"not older than the future":     {options: options(rv(15, 1), matching("NotOlderThan")), code: 504, after: freshWithin},
		"not older, with limit":         {options: options(rv(10, 0), matching("NotOlderThan"), limited(5, "")), want: now, rv: rv(14, 0)},
		"exact at the load":             {options: options(rv(10, 0), matching("Exact")), want: old, rv: rv(10, 0)},
		"exact between two revisions":   {options: options(rv(11, 77), matching("Exact")), want: old, rv: rv(11, 77)},
		"exact inside a revision":       {options: options(rv(12, 1), matching("Exact")), want: between, rv: rv(12, 1)},
		"exact at its last event":       {options: options(rv(12, 3), matching("Exact")), want: now, rv: rv(12, 3)},
		"exact behind its last event":   {options: options(rv(12, 999), matching("Exact")), want: now, rv: rv(12, 999)},
		"exact now":                     {options: options(rv(14, 0), matching("Exact")), want: now, rv: rv(14, 0)},
		"exact, too old":                {options: options(rv(10, 5), matching("Exact")), code: 410},
		"exact, the future":             {options: options(rv(15, 1), matching("Exact")), code: 504, after: freshWithin},
		"exact, beyond the signed":      {options: options("18446744073709551615", matching("Exact")), code: 504, after: freshWithin},
		"malformed":                     {options: options("abc"), code: 400},
		"malformed, exact":              {options: options("abc", matching("Exact")), code: 400},
		"malformed token":               {options: options("", limited(5, "abc")), code: 400},
		"token and resourceVersion":     {options: options(rv(14, 0), limited(5, "abc")), code: 400},
		"consistent while etcd is down": {options: options(""), down: true, code: 504, barriers: 1},
		"any while etcd is down":        {options: options("0"), down: true, want: now, rv: rv(14, 0)},
		"exact while etcd is down":      {options: options(rv(12, 1), matching("Exact")), down: true, want: between, rv: rv(12, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, wide)
				f.reset(10, object("ns/a", "Ready"), object("ns/b", "Ready"))
				f.append(12, changed("ns/a", "NotReady"), Change{Key: "ns/b"}, changed("ns/c", "Ready"))
				f.append(14)
				if tc.down {
					f.fail(apierrors.NewTimeoutError("etcd does not answer", 1))
				}
				began := time.Now()
				list, err := f.list(testPrefix, tc.options)
				if code(err) != tc.code || list.ResourceVersion != tc.rv || f.barriers.Load() != tc.barriers {
					t.Errorf("resourceVersion %q, %d barriers, error %v", list.ResourceVersion, f.barriers.Load(), err)
				}
				if diff := cmp.Diff(tc.want, contents(list)); diff != "" && err == nil {
					t.Error(diff)
				}
				if took := time.Since(began); took != tc.after || (tc.after > 0) != storage.IsTooLargeResourceVersion(err) && !tc.down {
					t.Errorf("took %v, want %v; %v", took, tc.after, err)
				}
				if tc.code == 410 && !apierrors.IsResourceExpired(err) {
					t.Errorf("not the reason of something too old: %v", err)
				}
			})
		})
	}
}

// TestListWaitsForExact: the state asked for comes while the request waits, and newer ones after it do not show.
func TestListWaitsForExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, wide)
		f.reset(10, object("ns/a", "0"))
		done := make(chan map[string]string)
		go func() {
			list, err := f.list(testPrefix, options(rv(12, 1), matching("Exact")))
			if err != nil {
				t.Error(err)
			}
			done <- contents(list)
		}()
		time.Sleep(time.Second)
		f.append(12, changed("ns/a", "1"), changed("ns/b", "1"))
		f.append(13, changed("ns/a", "2"))
		if diff := cmp.Diff(map[string]string{"ns/a": "1"}, <-done); diff != "" {
			t.Error(diff)
		}
	})
}

func TestListSelects(t *testing.T) {
	f := newFixture(t, wide)
	f.reset(10, object("ns/a", "Ready", "ring", "one"), object("ns/b", "NotReady", "ring", "one"), object("ns2/a", "Ready"), object("nsx/a", "Ready"))
	for name, tc := range map[string]struct {
		key     string
		options storage.ListOptions
		want    []string
	}{
		"all":                       {testPrefix, options(""), []string{"ns/a", "ns/b", "ns2/a", "nsx/a"}},
		"a namespace, not its like": {testPrefix + "/ns", options(""), []string{"ns/a", "ns/b"}},
		"an empty namespace":        {testPrefix + "/none", options(""), nil},
		"by label":                  {testPrefix, options("", selecting("ring=one", "")), []string{"ns/a", "ns/b"}},
		"by field":                  {testPrefix, options("", selecting("", "status.phase=Ready")), []string{"ns/a", "ns2/a", "nsx/a"}},
		"by both":                   {testPrefix, options("0", selecting("ring=one", "status.phase=Ready")), []string{"ns/a"}},
		"by name in all":            {testPrefix, options("", selecting("", "metadata.name=a")), []string{"ns/a", "ns2/a", "nsx/a"}},
		"one":                       {testPrefix + "/ns/a", storage.ListOptions{}, []string{"ns/a"}},
		"one that is missing":       {testPrefix + "/ns/x", storage.ListOptions{}, nil},
		"one that is not selected": {testPrefix + "/ns/a", func() storage.ListOptions {
			o := options("", selecting("ring=two", ""))
			o.Recursive = false
			return o
		}(), nil},
	} {
		t.Run(name, func(t *testing.T) {
			list := f.mustList(tc.key, tc.options)
			if diff := cmp.Diff(tc.want, keysOf(list)); diff != "" {
				t.Error(diff)
			}
			if list.Items == nil {
				t.Error("an empty list must not be null")
			}
			if list.ResourceVersion != rv(10, 0) {
				t.Errorf("resourceVersion %s", list.ResourceVersion)
			}
		})
	}
	if _, err := f.list("/other", options("")); err == nil {
		t.Error("a key of another resource is taken")
	}
}

// TestExactInsideALargeRevision: a list at a resourceVersion inside a revision has exactly the changes up to it, also across the snapshots
// that are kept, and while newer revisions pile up.
func TestExactInsideALargeRevision(t *testing.T) {
	const objects = 2000
	f := newFixture(t, wide)
	f.reset(10, numbered("ns", objects, "0")...)
	for revision := int64(11); revision < 16; revision++ {
		f.append(revision, changesOf(numbered("ns", objects, fmt.Sprint(revision)))...)
	}
	for _, changes := range []int{1, 2, 250, checkpointEvery - 1, checkpointEvery, checkpointEvery + 1, 1999, 2000, 2001} {
		got := map[string]int{}
		for _, phase := range contents(f.mustList(testPrefix, options(rv(13, changes), matching("Exact")))) {
			got[phase]++
		}
		want := map[string]int{"13": min(changes, objects), "12": objects - changes}
		if want["12"] <= 0 {
			delete(want, "12")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after %d changes: %s", changes, diff)
		}
	}
}
