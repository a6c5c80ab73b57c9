package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	binnaclev1alpha1 "github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned/typed/binnacle/v1alpha1"
)

// sighting is an event as a viewer saw it.
type sighting struct {
	version uint64
	kind    watch.EventType
	at      time.Time
	status  *v1alpha1.ClusterStatus
}

// viewer lists once and watches from then on, as client-go does: a watch that ends goes on from where it was, at the next of its servers,
// and lists again where that is too old. It holds each event against what it has seen before.
type viewer struct {
	clients []binnaclev1alpha1.ClusterStatusInterface

	mu      sync.Mutex
	objects map[string]*v1alpha1.ClusterStatus
	version uint64
	// from is the version that it began at.
	from    uint64
	events  []sighting
	relists int
	resumed int
	wrong   []string
	stop    func()
}

// startViewer starts a viewer that begins at the first of its servers, and returns when it has listed.
func startViewer(t *testing.T, clients ...binnaclev1alpha1.ClusterStatusInterface) *viewer {
	t.Helper()
	v := &viewer{clients: clients}
	ctx, cancel := context.WithCancel(t.Context())
	if err := v.list(ctx, clients[0]); err != nil {
		t.Fatal(err)
	}
	v.from = v.version
	done := make(chan struct{})
	go func() {
		defer close(done)
		v.run(ctx)
	}()
	v.stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(v.stop)
	return v
}

func (v *viewer) run(ctx context.Context) {
	for at := 0; ctx.Err() == nil; at = (at + 1) % len(v.clients) {
		err := v.follow(ctx, v.clients[at])
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			err = v.list(ctx, v.clients[at])
			if err == nil {
				v.mu.Lock()
				v.relists++
				v.mu.Unlock()
			}
		}
		if err != nil {
			select { // What is away is not asked all the time.
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
}

var errWatchEnded = errors.New("the watch ended")

func (v *viewer) follow(ctx context.Context, client binnaclev1alpha1.ClusterStatusInterface) error {
	v.mu.Lock()
	from := strconv.FormatUint(v.version, 10)
	v.mu.Unlock()
	w, err := client.Watch(ctx, metav1.ListOptions{ResourceVersion: from})
	if err != nil {
		return err
	}
	defer w.Stop()
	v.mu.Lock()
	v.resumed++
	v.mu.Unlock()
	for e := range w.ResultChan() {
		if e.Type == watch.Error {
			return apierrors.FromObject(e.Object)
		}
		v.see(e)
	}
	return errWatchEnded
}

// list replaces what is known. A list of a known or later version must not show less than was known.
func (v *viewer) list(ctx context.Context, client binnaclev1alpha1.ClusterStatusInterface) error {
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	version, err := strconv.ParseUint(list.ResourceVersion, 10, 64)
	if err != nil || version < v.version {
		v.wrong = append(v.wrong, fmt.Sprintf("a list of version %q after version %d", list.ResourceVersion, v.version))
	}
	v.version, v.objects = version, map[string]*v1alpha1.ClusterStatus{}
	for i := range list.Items {
		v.objects[list.Items[i].Name] = &list.Items[i]
	}
	return nil
}

func (v *viewer) see(e watch.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	status, ok := e.Object.(*v1alpha1.ClusterStatus)
	if !ok {
		v.wrong = append(v.wrong, fmt.Sprintf("an event of %T", e.Object))
		return
	}
	version, err := strconv.ParseUint(status.ResourceVersion, 10, 64)
	if err != nil || version <= v.version {
		v.wrong = append(v.wrong, fmt.Sprintf("%s %s has version %q after version %d", e.Type, status.Name, status.ResourceVersion, v.version))
	}
	if known := v.objects[status.Name] != nil; known != (e.Type != watch.Added) {
		v.wrong = append(v.wrong, fmt.Sprintf("%s %s at %d, and that it is known is %t", e.Type, status.Name, version, known))
	}
	v.version = version
	if e.Type == watch.Deleted {
		delete(v.objects, status.Name)
	} else {
		v.objects[status.Name] = status
	}
	v.events = append(v.events, sighting{version, e.Type, time.Now(), status})
}

// seen returns the events so far.
func (v *viewer) seen() []sighting {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.events[:len(v.events):len(v.events)]
}

// known returns what is known now.
func (v *viewer) known() map[string]*v1alpha1.ClusterStatus {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.objects)
}

// await waits until something is known of a cluster, and returns the event that first said so after the first events.
func (v *viewer) await(t *testing.T, name, what string, after int, wanted func(*v1alpha1.ClusterStatus) bool) sighting {
	t.Helper()
	var found sighting
	within(t, viewPatience, name+" to be "+what, func() bool {
		for _, s := range v.seen()[after:] {
			if s.status.Name == name && s.kind != watch.Deleted && wanted(s.status) {
				found = s
				return true
			}
		}
		return false
	})
	return found
}

// check fails for what a viewer may not see, and returns how often it listed again.
func (v *viewer) check(t *testing.T) (relists int) {
	t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, wrong := range v.wrong {
		if i < 5 {
			t.Error(wrong)
		}
	}
	if len(v.wrong) > 5 {
		t.Errorf("and %d more", len(v.wrong)-5)
	}
	return v.relists
}

// phases returns the phases of a cluster in the order in which they were seen, each change once.
func (v *viewer) phases(name string) (phases []v1alpha1.ClusterPhase) {
	for _, s := range v.seen() {
		if s.status.Name == name && (len(phases) == 0 || phases[len(phases)-1] != s.status.Status.Phase) {
			phases = append(phases, s.status.Status.Phase)
		}
	}
	return phases
}

// sameStatus compares all of two versions of a cluster.
func sameStatus(a, b *v1alpha1.ClusterStatus) bool { return apiequality.Semantic.DeepEqual(a, b) }
