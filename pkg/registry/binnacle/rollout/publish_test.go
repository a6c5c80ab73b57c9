package rollout

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/warning"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/registry/store"
	projection "github.com/binnacle-dev/binnacle/pkg/rollout/slices"
)

// ending is a storage that fails after a number of writes, as one does whose server is killed.
type ending struct {
	storage.Interface
	left int
}

var errEnded = errors.New("the server was killed")

func (e *ending) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	if e.left--; e.left < 0 {
		return errEnded
	}
	return e.Interface.Create(ctx, key, obj, out, ttl)
}

func (e *ending) GuaranteedUpdate(ctx context.Context, key string, out runtime.Object, ignoreNotFound bool, preconditions *storage.Preconditions, update storage.UpdateFunc, cached runtime.Object) error {
	if e.left--; e.left < 0 {
		return errEnded
	}
	return e.Interface.GuaranteedUpdate(ctx, key, out, ignoreNotFound, preconditions, update, cached)
}

// endAfter makes the projection fail after n writes, until the returned function is called.
func (w *world) endAfter(n int) (again func()) {
	whole := w.mover.decisions
	broken := *whole.Store
	broken.Storage.Storage = &ending{broken.Storage.Storage, n}
	w.mover.decisions = &store.Store{Store: &broken, Kind: whole.Kind}
	return func() { w.mover.decisions = whole }
}

// warnings are what a client is told beside the answer.
type warnings []string

func (w *warnings) AddWarning(_, text string) { *w = append(*w, text) }

// TestSlicesFollow ends the writing of slices after each number of writes. The verb is answered with what was decided and a warning, nobody who
// was in and stays is missing meanwhile, and a tick of whoever comes next writes the rest.
func TestSlicesFollow(t *testing.T) {
	for n := range 3 {
		w := newWorld(t, 250)
		w.start(nil, 50, 100)
		before := w.published()
		again := w.endAfter(n)
		said := &warnings{}
		verb := &ActionREST{w.CreateStrategy.(strategy).Strategy, binnacle.VerbAdvance, w.mover}
		done, err := verb.Create(warning.WithWarningRecorder(w.ctx(), said), "app", &binnacle.RolloutAction{}, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
		if err != nil || done.(*binnacle.RolloutAction).Status.Revision != 2 {
			t.Fatalf("after %d writes: %v, %v", n, done, err)
		}
		if len(*said) != 1 || !strings.Contains((*said)[0], "its PlacementDecisions follow") {
			t.Errorf("after %d writes: the warnings are %q", n, *said)
		}
		again()
		meanwhile := w.published()
		for _, name := range before {
			if !slices.Contains(meanwhile, name) {
				t.Errorf("after %d writes: %s is missing", n, name)
			}
		}
		if !w.due() { // The third write changes no member, only what the first slice says of the others.
			t.Errorf("after %d writes: %d are published, and it is not listed", n, len(meanwhile))
		}
		w.tick()
		if got := w.published(); len(got) != 250 || w.due() {
			t.Errorf("after %d writes and a tick: %d are published", n, len(got))
		}
	}
}

// TestOvertaken lets a replica that was overtaken write its slices late: the newest revision is published in the end.
func TestOvertaken(t *testing.T) {
	w := newWorld(t, 250)
	w.start(nil, 50, 100)
	old := w.now()
	w.act(binnacle.VerbAdvance)
	late := *w.now()
	late.Status = old.Status
	if err := w.mover.project(t.Context(), &late); err != nil {
		t.Fatal(err)
	}
	if got := w.published(); len(got) != 250 {
		t.Errorf("%d are published", len(got))
	}
	stored, _, err := w.mover.slicesOf(ofDecisions(t.Context(), "fleet"), old.UID)
	if err != nil {
		t.Fatal(err)
	}
	if writes := projection.Writes(w.now(), stored); len(writes) > 0 {
		t.Errorf("%d writes are left", len(writes))
	}
	// What it would have written, had it not looked again.
	lost, err := w.mover.write(ofDecisions(t.Context(), "fleet"), []projection.Write{{Verb: projection.Update, Slice: outdated(stored[0])}})
	if lost == nil || err != nil {
		t.Errorf("an outdated slice was written: %v, %v", lost, err)
	}
}

func outdated(slice *multicluster.PlacementDecision) *multicluster.PlacementDecision {
	old := slice.DeepCopy()
	old.ResourceVersion, old.SchedulerName = "1", "outdated"
	return old
}
