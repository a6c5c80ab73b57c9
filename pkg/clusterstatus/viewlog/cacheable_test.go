package viewlog

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/install"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

func codec(t testing.TB) runtime.Codec {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	codecs := serializer.NewCodecFactory(scheme)
	info, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	if !ok {
		t.Fatal("no JSON")
	}
	return codecs.CodecForVersions(info.Serializer, info.Serializer, v1alpha1.SchemeGroupVersion, runtime.InternalGroupVersioner)
}

// counting is a codec that counts how often it really encodes.
type counting struct {
	runtime.Codec
	id    runtime.Identifier
	count *atomic.Int64
	err   error
}

func (c counting) Encode(o runtime.Object, w io.Writer) error {
	if cached, ok := o.(runtime.CacheableObject); ok {
		return cached.CacheEncode(c.id, c.encode, w)
	}
	return c.encode(o, w)
}

func (c counting) encode(o runtime.Object, w io.Writer) error {
	c.count.Add(1)
	// An encoder that converts nothing does this.
	o.GetObjectKind().SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind("ClusterStatus"))
	if c.err != nil {
		return c.err
	}
	return c.Codec.Encode(o, w)
}

// TestEncodedOnce: each event is encoded once however many watchers it goes to, for each kind of event that it is. The object that all share
// is not touched: an encoder sets the kind on what it is given.
func TestEncodedOnce(t *testing.T) {
	const watchers = 50
	f := newFixture(t, wide)
	f.reset(10, object("ns/a", "Ready"), object("ns/b", "Ready"))
	encoder := counting{Codec: codec(t), id: "json", count: &atomic.Int64{}}
	var done sync.WaitGroup
	var mu sync.Mutex
	got := map[string]int{}
	for range watchers {
		w := f.watch(t.Context(), testPrefix, options(rv(10, 0), selecting("", "status.phase=Ready")))
		done.Go(func() {
			for range 3 {
				e := <-w.ResultChan()
				var b bytes.Buffer
				if err := encoder.Encode(e.Object, &b); err != nil {
					t.Error(err)
				}
				mu.Lock()
				got[string(e.Type)+" "+b.String()]++
				mu.Unlock()
			}
		})
	}
	f.append(11, changed("ns/a", "NotReady"), changed("ns/b", "Ready"), changed("ns/c", "Ready"))
	done.Wait()
	if n := encoder.count.Load(); n != 3 {
		t.Errorf("encoded %d times", n)
	}
	for text, n := range got {
		if n != watchers || !strings.Contains(text, `"kind":"ClusterStatus","apiVersion":"binnacle.dev/v1alpha1"`) {
			t.Errorf("%d watchers got %s", n, text)
		}
	}
	if len(got) != 3 {
		t.Errorf("%d different events", len(got))
	}
	for _, key := range []string{"ns/a", "ns/b", "ns/c"} {
		if kind := f.log.Get(key).Kind; kind != "" {
			t.Errorf("the shared object %s has become a %s", key, kind)
		}
	}
}

// TestInitialEventsAreNotShared: what a watch begins with is never the object of the log itself.
func TestInitialEventsAreNotShared(t *testing.T) {
	f := newFixture(t, wide)
	f.reset(10, object("ns/a", "Ready"))
	w := f.watch(t.Context(), testPrefix, options("0"))
	e := <-w.ResultChan()
	if err := codec(t).Encode(e.Object, io.Discard); err != nil {
		t.Fatal(err)
	}
	unwrap(e).Labels = map[string]string{"mine": "true"}
	if o := f.log.Get("ns/a"); o.Kind != "" || o.Labels != nil {
		t.Errorf("the shared object is changed: %+v", o)
	}
	if f.log.Stats().Bytes != 0 {
		t.Error("something is kept for events that only one watch begins with")
	}
}

// TestListsAreNotShared: encoding a list sets nothing on the log's objects.
func TestListsAreNotShared(t *testing.T) {
	f := newFixture(t, wide)
	f.reset(10, object("ns/a", "Ready"))
	var done sync.WaitGroup
	for range 10 {
		done.Go(func() {
			list, err := f.list(testPrefix, options("0"))
			if err != nil {
				t.Error(err)
			}
			list.Items[0].Kind = "Other"
			if err := codec(t).Encode(list, io.Discard); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	if o := f.log.Get("ns/a"); o.Kind != "" {
		t.Errorf("the shared object has become a %s", o.Kind)
	}
}

func TestCacheableAccess(t *testing.T) {
	shared := object("ns/a", "Ready", "ring", "one")
	c := &cacheable{object: shared, budget: &budget{limit: 1 << 20}}
	accessor, err := meta.Accessor(runtime.Object(c))
	if err != nil || accessor.GetName() != "a" {
		t.Fatalf("%v, %v", accessor, err)
	}
	accessor.SetName("b")
	accessor.GetLabels()["ring"] = "two"
	c.GetObjectKind().SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind("ClusterStatus"))
	c.GetObject().(*binnacle.ClusterStatus).Labels["ring"] = "three"
	c.DeepCopyObject().(*cacheable).object.Labels["ring"] = "four"
	if diff := cmp.Diff(object("ns/a", "Ready", "ring", "one"), shared); diff != "" {
		t.Error(diff)
	}
}

// encodes returns how often an object is really encoded for two who ask for it.
func encodes(t *testing.T, e watch.Event, id string) int64 {
	encoder := counting{Codec: codec(t), id: runtime.Identifier(id), count: &atomic.Int64{}}
	for range 2 {
		if err := encoder.Encode(e.Object, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	return encoder.count.Load()
}

// TestEncodingsAreBounded: they are counted, few are kept of one event, and those of the oldest events go when there are many.
func TestEncodingsAreBounded(t *testing.T) {
	f := newFixture(t, Limits{Events: 1000, Bytes: 1 << 20})
	f.reset(10)
	w := f.watch(t.Context(), testPrefix, options(rv(10, 0)))
	f.append(11, changed("ns/a", "Ready"))
	first, before := <-w.ResultChan(), f.log.Stats().Bytes
	for i := range maxEncodings + 3 {
		want := int64(1)
		if i >= maxEncodings {
			want = 2
		}
		if n := encodes(t, first, strings.Repeat("x", i+1)); n != want {
			t.Errorf("encoding %d was made %d times", i, n)
		}
	}
	if f.log.Stats().Bytes <= before {
		t.Error("encodings are not counted")
	}
	for revision := int64(12); encodes(t, first, "x") == 0; revision++ {
		f.append(revision, changed("ns/a", "Ready"))
		if n := encodes(t, <-w.ResultChan(), "x"); n != 1 {
			t.Fatalf("revision %d was encoded %d times", revision, n)
		}
		if f.log.ring.base > 0 {
			t.Fatalf("the encodings of the first event outlived it: %+v", f.log.Stats())
		}
		if f.log.Stats().Events == 1000 {
			break
		}
		// As if there were large ones, so that half of the budget is soon taken.
		f.log.ring.encodings.used.Add(10_000)
	}
	if n := encodes(t, first, "x"); n != 2 {
		t.Errorf("made %d times though nothing should be kept of it any more", n)
	}
	if got := f.log.Stats(); got.Events < 10 {
		t.Errorf("the first encodings went too early: %+v", got)
	}
}

// TestFullHistoryEncodesOnce: with a history as long as the limit of bytes lets it be, new events are still encoded once.
func TestFullHistoryEncodesOnce(t *testing.T) {
	f := newFixture(t, Limits{Events: 1000, Bytes: 100_000})
	f.reset(10, object("ns/a", "Ready"))
	w := f.watch(t.Context(), testPrefix, options(rv(10, 0)))
	for revision := int64(11); revision < 200; revision++ {
		f.append(revision, changed("ns/a", "Ready"))
		if n := encodes(t, <-w.ResultChan(), "x"); n != 1 {
			t.Fatalf("revision %d was encoded %d times", revision, n)
		}
	}
	if got := f.log.Stats(); f.log.ring.base == 0 || got.Bytes > 100_000 || got.Events < 20 {
		t.Errorf("%+v", got)
	}
	f.reset(1000)
	if got := f.log.Stats().Bytes; got != 0 {
		t.Errorf("%d bytes without an event", got)
	}
}

// TestEncodingLate: what was encoded for an event that has just been released is not counted for ever.
func TestEncodingLate(t *testing.T) {
	b := &budget{limit: 1 << 20}
	c := &cacheable{object: object("ns/a", "Ready"), budget: b}
	err := c.CacheEncode("x", func(_ runtime.Object, w io.Writer) error {
		c.release()
		_, err := w.Write([]byte("encoded"))
		return err
	}, io.Discard)
	if err != nil || b.used.Load() != 0 {
		t.Errorf("%v, %d bytes", err, b.used.Load())
	}
	full := &cacheable{object: object("ns/a", "Ready"), budget: &budget{}}
	if err := full.CacheEncode("x", func(runtime.Object, io.Writer) error { return nil }, io.Discard); err != nil || full.encodings != nil {
		t.Errorf("kept beyond the budget: %v, %v", err, full.encodings)
	}
}

func TestEncodingFails(t *testing.T) {
	broken := counting{Codec: codec(t), id: "x", count: &atomic.Int64{}, err: errors.New("broken")}
	e := newEvent(1, "ns/a", newEntry(object("ns/a", "Ready")), nil, &budget{limit: 1 << 20})
	sent, _ := e.forWatcher(true, false)
	for range 2 {
		if err := broken.Encode(sent.Object, io.Discard); !errors.Is(err, broken.err) {
			t.Error(err)
		}
	}
	if sent.Type != watch.Added {
		t.Error(sent.Type)
	}
}

// TestSplice: where the writer can take the bytes over without copying them, it does.
func TestSplice(t *testing.T) {
	c := &cacheable{object: object("ns/a", "Ready"), budget: &budget{limit: 1 << 20}}
	var plain bytes.Buffer
	splice := runtime.NewSpliceBuffer()
	for _, w := range []io.Writer{&plain, splice} {
		if err := c.CacheEncode("x", codec(t).Encode, w); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(plain.String(), string(splice.Bytes())); diff != "" || plain.Len() == 0 {
		t.Error(diff)
	}
}
