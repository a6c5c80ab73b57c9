package integration

import (
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	binnacleapi "github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	multiclusterv1alpha1 "github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
	"github.com/binnacle-dev/binnacle/test/framework"
)

const (
	largeTargets = 10_000
	// largeBytes is how large a stored Rollout may be.
	largeBytes = 700_000
)

// sliceReader lists all slices of a decision in a loop, and keeps each set of clusters that it found, and how the revision stood before and after.
type sliceReader struct {
	mu    sync.Mutex
	found []map[string]bool
	stop  chan struct{}
	done  sync.WaitGroup
}

func startSliceReader(d decider, key string) *sliceReader {
	r := &sliceReader{stop: make(chan struct{})}
	r.done.Go(func() {
		for {
			select {
			case <-r.stop:
				return
			default:
			}
			list, err := d.client.MulticlusterV1alpha1().PlacementDecisions(d.namespace).List(d.t.Context(), metav1.ListOptions{LabelSelector: multiclusterv1alpha1.DecisionKeyLabel + "=" + key})
			if err != nil {
				d.t.Errorf("a reader: %v", err)
				return
			}
			set := map[string]bool{}
			for _, name := range published(list.Items) {
				set[name] = true
			}
			r.mu.Lock()
			r.found = append(r.found, set)
			r.mu.Unlock()
		}
	})
	return r
}

// during returns what was found while f ran, the first being the last before.
func (r *sliceReader) during(f func()) []map[string]bool {
	r.mu.Lock()
	from := max(0, len(r.found)-1)
	r.mu.Unlock()
	f()
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.found[from:])
}

// TestTenThousandTargets lets ten thousand clusters through while a reader lists all slices in a loop. Nobody who was in and stays in is ever
// missing, and the record stays as small as is promised.
func TestTenThousandTargets(t *testing.T) {
	if testing.Short() {
		t.Skip("large")
	}
	s := startStandalone(t, framework.ServerOptions{})
	config := adminOf(t, s)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	d := newDecider(t, config, "large")
	begun := time.Now()
	d.clusters(largeTargets)
	t.Logf("%d clusters registered in %s", largeTargets, time.Since(begun).Round(time.Second))
	d.create(d.plan("app", 10, 25, 75, 100))
	reader := startSliceReader(d, "app")
	stop := sync.OnceFunc(func() {
		close(reader.stop)
		reader.done.Wait()
	})
	defer stop()
	for _, want := range []int{1000, 2500, 7500, 10000} {
		before := through(&d.get("app").Status)
		var took time.Duration
		seen := reader.during(func() {
			began := time.Now()
			d.must("app", binnacleapi.VerbAdvance)
			took = time.Since(began)
		})
		raw := d.client.BinnacleV1alpha1().RESTClient().Get().Namespace(d.namespace).Resource("rollouts").Name("app").Do(t.Context())
		data, err := raw.Raw()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("to %d: %s, %d reads meanwhile, %d bytes in protobuf", want, took.Round(time.Millisecond), len(seen), len(data))
		if len(data) > largeBytes {
			t.Errorf("the Rollout has %d bytes", len(data))
		}
		for _, set := range seen {
			for _, name := range before {
				if !set[name] {
					t.Fatalf("%s was missing on the way to %d", name, want)
				}
			}
		}
		found := d.slices("app")
		if len(found) != (want+99)/100 || len(published(found)) != want {
			t.Errorf("%d slices with %d clusters, want %d", len(found), len(published(found)), want)
		}
	}
	d.wantPublished("app")
	stop()
	d.wantQuickAdvance()
	d.wantQuickRepair(s)
}
