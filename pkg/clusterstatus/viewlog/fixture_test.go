package viewlog

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

const testPrefix = "/clusterstatuses"

// patience is how long a test waits for what must come. It is not how long anything should take.
const patience = 60 * time.Second

var wide = Limits{Events: 20_000, Bytes: 1 << 30}

// object returns a ClusterStatus. pairs are labels.
func object(key, phase string, pairs ...string) *binnacle.ClusterStatus {
	namespace, name, _ := strings.Cut(key, "/")
	o := &binnacle.ClusterStatus{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	o.Status.Phase = binnacle.ClusterPhase(phase)
	for i := 0; i < len(pairs); i += 2 {
		metav1.SetMetaDataLabel(&o.ObjectMeta, pairs[i], pairs[i+1])
	}
	return o
}

func changed(key, phase string, pairs ...string) Change {
	return Change{Key: key, Object: object(key, phase, pairs...)}
}

// numbered returns n objects of a namespace, which sort by their numbers.
func numbered(namespace string, n int, phase string) []*binnacle.ClusterStatus {
	objects := make([]*binnacle.ClusterStatus, n)
	for i := range objects {
		objects[i] = object(fmt.Sprintf("%s/c%05d", namespace, i), phase)
	}
	return objects
}

func changesOf(objects []*binnacle.ClusterStatus) []Change {
	changes := make([]Change, len(objects))
	for i, o := range objects {
		changes[i] = Change{Key: keyOf(o), Object: o}
	}
	return changes
}

func attributes(o apiruntime.Object) (labels.Set, fields.Set, error) {
	status := o.(*binnacle.ClusterStatus)
	return status.Labels, fields.Set{
		"metadata.name": status.Name, "metadata.namespace": status.Namespace, binnacle.SelectorPhase: string(status.Status.Phase),
	}, nil
}

// fixture is a log with a storage over it, and what stands for etcd.
type fixture struct {
	t       testing.TB
	log     *Log
	storage storage.Interface
	// etcd is the newest revision that a linearizable read would see. A barrier waits until the log has it.
	etcd     atomic.Int64
	barriers atomic.Int64
	mu       sync.Mutex
	down     error
}

func newFixture(t testing.TB, limits Limits) *fixture {
	f := &fixture{t: t, log: New(limits)}
	f.storage = NewStorage(f.log, StorageOptions{
		Prefix: testPrefix, Resource: binnacle.Resource("clusterstatuses"), Attributes: attributes, Barrier: f.barrier,
	})
	return f
}

func (f *fixture) barrier(ctx context.Context) (int64, error) {
	f.barriers.Add(1)
	f.mu.Lock()
	down := f.down
	f.mu.Unlock()
	if down != nil {
		return 0, down
	}
	revision := f.etcd.Load()
	return revision, f.log.WaitFor(ctx, revision)
}

func (f *fixture) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = err
}

func (f *fixture) reset(revision int64, objects ...*binnacle.ClusterStatus) {
	f.etcd.Store(revision)
	f.log.Reset(revision, objects)
}

func (f *fixture) append(revision int64, changes ...Change) {
	f.t.Helper()
	f.etcd.Store(revision)
	if err := f.log.Append(revision, changes); err != nil {
		f.t.Fatal(err)
	}
}

// options returns the options of a list or a watch of everything.
func options(rv string, more ...func(*storage.ListOptions)) storage.ListOptions {
	o := storage.ListOptions{ResourceVersion: rv, Recursive: true, Predicate: storage.SelectionPredicate{
		Label: labels.Everything(), Field: fields.Everything(), GetAttrs: attributes,
	}}
	for _, m := range more {
		m(&o)
	}
	return o
}

func selecting(label, field string) func(*storage.ListOptions) {
	return func(o *storage.ListOptions) {
		o.Predicate.Label, _ = labels.Parse(label)
		o.Predicate.Field, _ = fields.ParseSelector(field)
	}
}

func limited(limit int64, token string) func(*storage.ListOptions) {
	return func(o *storage.ListOptions) { o.Predicate.Limit, o.Predicate.Continue = limit, token }
}

func matching(match metav1.ResourceVersionMatch) func(*storage.ListOptions) {
	return func(o *storage.ListOptions) { o.ResourceVersionMatch = match }
}

func initialEvents(send bool) func(*storage.ListOptions) {
	return func(o *storage.ListOptions) {
		o.SendInitialEvents, o.ResourceVersionMatch = &send, metav1.ResourceVersionMatchNotOlderThan
	}
}

func bookmarks(o *storage.ListOptions) { o.Predicate.AllowWatchBookmarks = true }

func (f *fixture) list(key string, o storage.ListOptions) (*binnacle.ClusterStatusList, error) {
	list := &binnacle.ClusterStatusList{}
	return list, f.storage.GetList(context.Background(), key, o, list)
}

func (f *fixture) mustList(key string, o storage.ListOptions) *binnacle.ClusterStatusList {
	f.t.Helper()
	list, err := f.list(key, o)
	if err != nil {
		f.t.Fatal(err)
	}
	return list
}

func (f *fixture) watch(ctx context.Context, key string, o storage.ListOptions) *reader {
	f.t.Helper()
	w, err := f.storage.Watch(ctx, key, o)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(w.Stop)
	return &reader{f.t, w}
}

// reader reads a watch.
type reader struct {
	testing.TB
	watch.Interface
}

// next returns the next event in short: type key phase resourceVersion; "closed" at the end.
func (r *reader) next() string {
	r.Helper()
	select {
	case e, ok := <-r.ResultChan():
		if !ok {
			return "closed"
		}
		return short(e)
	case <-time.After(patience):
		r.Fatal("no event came")
		return ""
	}
}

func (r *reader) take(n int) []string {
	r.Helper()
	got := make([]string, n)
	for i := range got {
		got[i] = r.next()
	}
	return got
}

// silent fails the test if there is an event once all goroutines rest. It is for tests in a bubble.
func (r *reader) silent() {
	r.Helper()
	select {
	case e, ok := <-r.ResultChan():
		if ok {
			r.Fatalf("an event that should not be: %s", short(e))
		}
		r.Fatal("the watch has ended")
	default:
	}
}

func short(e watch.Event) string {
	if e.Type == watch.Error {
		return fmt.Sprintf("ERROR %d %s", e.Object.(*metav1.Status).Code, e.Object.(*metav1.Status).Reason)
	}
	o := unwrap(e)
	if e.Type == watch.Bookmark {
		end := ""
		if o.Annotations[metav1.InitialEventsAnnotationKey] == "true" {
			end = " end"
		}
		return "BOOKMARK " + o.ResourceVersion + end
	}
	return fmt.Sprintf("%s %s %s %s", e.Type, keyOf(o), o.Status.Phase, o.ResourceVersion)
}

func unwrap(e watch.Event) *binnacle.ClusterStatus {
	if c, ok := e.Object.(apiruntime.CacheableObject); ok {
		return c.GetObject().(*binnacle.ClusterStatus)
	}
	return e.Object.(*binnacle.ClusterStatus)
}

// contents returns what a list has: key to phase.
func contents(list *binnacle.ClusterStatusList) map[string]string {
	found := map[string]string{}
	for i := range list.Items {
		found[keyOf(&list.Items[i])] = string(list.Items[i].Status.Phase)
	}
	return found
}

func keysOf(list *binnacle.ClusterStatusList) []string {
	return slices.Sorted(maps.Keys(contents(list)))
}

// rv returns a resourceVersion as requests have it; ordinal 0 stands for the marker.
func rv(revision int64, ordinal int) string {
	if ordinal == 0 {
		return format(Marker(revision))
	}
	number, err := RV(revision, ordinal)
	if err != nil {
		panic(err)
	}
	return format(number)
}

// code returns the HTTP status of an error, 0 for none.
func code(err error) int32 {
	if status, ok := err.(apierrors.APIStatus); ok {
		return status.Status().Code
	}
	if storage.IsNotFound(err) {
		return 404
	}
	if err != nil {
		return -1
	}
	return 0
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for: %s", what)
		}
	}
}

// noneLeft waits until no goroutine of a watch is left.
func noneLeft(t testing.TB) {
	t.Helper()
	eventually(t, "the end of every watch's goroutine", func() bool {
		stacks := make([]byte, 1<<22)
		return !strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "viewlog.(*watcher)")
	})
}
