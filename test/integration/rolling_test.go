package integration

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha2"
	"github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned"
	multiclusterv1alpha2 "github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned/typed/multicluster/v1alpha2"
	"github.com/binnacle-dev/binnacle/test/framework"
)

// TestRollingRestart restarts both replicas in turn, twice, under 50 writes/s and 200 watches through the hub. No call of a client-go
// client fails, and each watch has every event once (apiserver-guide D19; cases.md, 46).
func TestRollingRestart(t *testing.T) {
	// As in artifacts: long enough for the endpoint to be taken out before the server stops accepting.
	r := startOwnHub(t, framework.HubOptions{}, 2, "--shutdown-delay-duration=4s", "--disable-http2-serving")
	namespaces := r.namespaces(t, 10)
	defer r.keepEndpoints(t)()

	watchers := startWatchers(t, r.ConfigFor("admin", "system:masters"), namespaces, 20)
	writers := startWriters(t, r.AdminConfig(), namespaces)
	for range 2 {
		for i, replica := range r.replicas {
			before := writers.done.Load()
			if err := replica.Stop(); err != nil {
				t.Errorf("replica %d: %v", i, err)
			}
			if err := replica.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			within(t, time.Minute, "writes to go on", func() bool { return writers.done.Load() > before+100 })
		}
	}
	writers.stop()
	if failed := writers.failed.Load(); failed > 0 {
		t.Errorf("%d of %d writes failed", failed, failed+writers.done.Load())
	}
	seen := watchers.finish(writers.events)
	t.Logf("%d writes, %d events at %d watches, %d failed writes", writers.done.Load(), seen, len(watchers.all), writers.failed.Load())
}

// writers send 50 writes/s through client-go: creates, patches and deletes.
type writers struct {
	done, failed atomic.Int64
	// events says how many events each namespace had.
	events map[string]int
	stop   func()
}

func startWriters(t *testing.T, config *rest.Config, namespaces []string) *writers {
	t.Helper()
	w := &writers{events: map[string]int{}}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, namespace := range namespaces {
		// A client of its own has a connection of its own.
		profiles := versioned.NewForConfigOrDie(rest.CopyConfig(config)).MulticlusterV1alpha2().ClusterProfiles(namespace)
		wg.Go(func() {
			tick := time.NewTicker(200 * time.Millisecond) // five a second in each of ten namespaces
			defer tick.Stop()
			for i := 0; ; i++ {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
				// A write that has begun is finished: what it did must be known.
				if err := write(context.WithoutCancel(ctx), profiles, i); err != nil {
					w.failed.Add(1)
					t.Logf("%s: write %d: %v: %s", namespace, i, err, causesOf(err))
					continue
				}
				w.done.Add(1)
				mu.Lock()
				w.events[namespace]++
				mu.Unlock()
			}
		})
	}
	w.stop = func() {
		cancel()
		wg.Wait()
	}
	t.Cleanup(w.stop)
	return w
}

// causesOf is what a status says beyond its message, such as the answer of a proxy on the way.
func causesOf(err error) (text string) {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			text += cause.Message + " "
		}
	}
	return text
}

// write does the i-th write of a namespace: it creates an object, changes it, and removes it.
func write(ctx context.Context, profiles multiclusterv1alpha2.ClusterProfileInterface, i int) error {
	name := fmt.Sprint("c", i/3)
	var err error
	switch i % 3 {
	case 0:
		_, err = profiles.Create(ctx, newProfile(name), metav1.CreateOptions{})
	case 1:
		_, err = profiles.Patch(ctx, name, types.MergePatchType, []byte(`{"spec":{"displayName":"changed"}}`), metav1.PatchOptions{})
	case 2:
		err = profiles.Delete(ctx, name, metav1.DeleteOptions{})
	}
	return err
}

func newProfile(name string) *v1alpha2.ClusterProfile {
	manager := "fleet"
	return &v1alpha2.ClusterProfile{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha2.ClusterProfileSpec{ClusterManager: v1alpha2.ClusterManager{Name: &manager}},
	}
}

// watchers follow namespaces and count events.
type watchers struct {
	t   *testing.T
	all []*follower
}

type follower struct {
	namespace string
	watch     *watchtools.RetryWatcher
	events    atomic.Int64
	wrong     atomic.Pointer[string]
}

// startWatchers opens n watches on each namespace, those of a namespace over one connection. A watch that ends goes on from where it
// was, as client-go does it.
func startWatchers(t *testing.T, config *rest.Config, namespaces []string, n int) *watchers {
	t.Helper()
	w := &watchers{t: t}
	for _, namespace := range namespaces {
		profiles := versioned.NewForConfigOrDie(rest.CopyConfig(config)).MulticlusterV1alpha2().ClusterProfiles(namespace)
		list, err := profiles.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			retrying, err := watchtools.NewRetryWatcherWithContext(t.Context(), list.ResourceVersion, watchFrom{profiles})
			if err != nil {
				t.Fatal(err)
			}
			f := &follower{namespace: namespace, watch: retrying}
			w.all = append(w.all, f)
			go f.follow()
		}
	}
	return w
}

// watchFrom opens watches for a RetryWatcher.
type watchFrom struct {
	profiles multiclusterv1alpha2.ClusterProfileInterface
}

func (w watchFrom) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return w.profiles.Watch(ctx, options)
}

// follow checks that the events are those of write, in order.
func (f *follower) follow() {
	for e := range f.watch.ResultChan() {
		i := f.events.Add(1) - 1
		want := []watch.EventType{watch.Added, watch.Modified, watch.Deleted}[i%3]
		profile, ok := e.Object.(*v1alpha2.ClusterProfile)
		if !ok || e.Type != want || profile.Name != fmt.Sprint("c", i/3) {
			text := fmt.Sprintf("%s: event %d is %s %v, want %s of c%d", f.namespace, i, e.Type, e.Object, want, i/3)
			f.wrong.CompareAndSwap(nil, &text)
			return
		}
	}
}

// finish waits until each watch has as many events as its namespace had, and returns how many there were at all watches.
func (w *watchers) finish(events map[string]int) (seen int64) {
	w.t.Helper()
	for _, f := range w.all {
		within(w.t, time.Minute, "the last event", func() bool {
			return f.wrong.Load() != nil || f.events.Load() >= int64(events[f.namespace])
		})
		if wrong := f.wrong.Load(); wrong != nil {
			w.t.Error(*wrong)
		}
		if got := f.events.Load(); got > int64(events[f.namespace]) {
			w.t.Errorf("%s: %d events of %d writes", f.namespace, got, events[f.namespace])
		}
		seen += f.events.Load()
		f.watch.Stop()
	}
	return seen
}
