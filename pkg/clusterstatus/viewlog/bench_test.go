package viewlog

import (
	"fmt"
	"io"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
)

// benchAppend appends revisions of 1,000 changes to 10,000 objects. key and more say what 1,000 watchers watch; what they get they encode.
func benchAppend(b *testing.B, watchers int, key string, more ...func(*storage.ListOptions)) {
	f := newFixture(b, Limits{Events: 50_000, Bytes: 256 << 20})
	f.reset(1, numbered("ns", 10_000, "Ready")...)
	encoder := codec(b)
	var got atomic.Int64
	for range watchers {
		w := f.watch(b.Context(), key, options(rv(1, 0), more...))
		go func() {
			for e := range w.ResultChan() {
				if o, ok := e.Object.(runtime.CacheableObject); ok {
					_ = o.CacheEncode("json", encoder.Encode, io.Discard)
					got.Add(1)
				}
			}
		}()
	}
	revision := int64(1)
	for b.Loop() {
		b.StopTimer()
		revision++
		changes := changesOf(numbered("ns", 1000, fmt.Sprint(revision)))
		b.StartTimer()
		f.append(revision, changes...)
	}
	b.ReportMetric(float64(got.Load())/float64(b.N), "delivered/op")
}

// BenchmarkAppend measures how long the writer takes for a revision of 1,000 changes.
func BenchmarkAppend(b *testing.B) {
	b.Run("no watchers", func(b *testing.B) { benchAppend(b, 0, testPrefix) })
	b.Run("1000 of another namespace", func(b *testing.B) { benchAppend(b, 1000, testPrefix+"/other") })
	b.Run("1000 that select nothing", func(b *testing.B) { benchAppend(b, 1000, testPrefix, selecting("ring=one", "")) })
	b.Run("1000 of all", func(b *testing.B) { benchAppend(b, 1000, testPrefix) })
}

// BenchmarkDeliver measures a revision of 1,000 changes until 1,000 watchers have all of them.
func BenchmarkDeliver(b *testing.B) {
	const watchers, changes = 1000, 1000
	f := newFixture(b, Limits{Events: 50_000, Bytes: 256 << 20})
	f.reset(1, numbered("ns", 10_000, "Ready")...)
	encoder := codec(b)
	delivered := make(chan struct{}, watchers)
	for range watchers {
		w := f.watch(b.Context(), testPrefix, options(rv(1, 0)))
		go func() {
			n := 0
			for e := range w.ResultChan() {
				if o, ok := e.Object.(runtime.CacheableObject); ok {
					_ = o.CacheEncode("json", encoder.Encode, io.Discard)
				}
				if n++; n%changes == 0 {
					delivered <- struct{}{}
				}
			}
		}()
	}
	revision := int64(1)
	for b.Loop() {
		revision++
		f.append(revision, changesOf(numbered("ns", changes, fmt.Sprint(revision)))...)
		for range watchers {
			<-delivered
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/watchers/changes, "ns/event/watcher")
}

// BenchmarkExact measures a list at a resourceVersion of the past, of 50,000 objects.
func BenchmarkExact(b *testing.B) {
	f := newFixture(b, Limits{Events: 50_000, Bytes: 256 << 20})
	f.reset(1, numbered("ns", 50_000, "Ready")...)
	for revision := int64(2); revision < 22; revision++ {
		f.append(revision, changesOf(numbered("ns", 1000, fmt.Sprint(revision)))...)
	}
	b.Run("a page of 500", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f.mustList(testPrefix, options(rv(10, 333), matching(""), limited(500, "")))
		}
	})
	b.Run("all", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f.mustList(testPrefix, options(rv(10, 333), matching("Exact")))
		}
	})
}
