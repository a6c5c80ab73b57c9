package integration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha2"
	"github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned"
	binnaclev1alpha1 "github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned/typed/binnacle/v1alpha1"
)

// reader lists and gets in turn at several servers, and wants never to be taken back.
type reader struct {
	starting *atomic.Bool

	mu      sync.Mutex
	reads   int
	version uint64
	number  map[string]int
	wrong   []string
	stop    func()
}

func startReader(t *testing.T, starting *atomic.Bool, clients ...binnaclev1alpha1.ClusterStatusInterface) *reader {
	t.Helper()
	r := &reader{starting: starting, number: map[string]int{}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			r.read(ctx, clients[i%len(clients)], i)
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	r.stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(r.stop)
	return r
}

func (r *reader) read(ctx context.Context, client binnaclev1alpha1.ClusterStatusInterface, i int) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second) // One that is away is passed over.
	defer cancel()
	starting := r.starting.Load()
	if i%5 == 4 {
		if s, err := client.Get(ctx, fmt.Sprint("c", i%viewClusters), metav1.GetOptions{}); err == nil {
			r.note("get", "", []v1alpha1.ClusterStatus{*s})
		} else {
			r.refused(err, starting)
		}
		return
	}
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		r.refused(err, starting)
		return
	}
	r.note("list", list.ResourceVersion, list.Items)
	if len(list.Items) != viewClusters {
		r.mu.Lock()
		r.wrong = append(r.wrong, fmt.Sprintf("a list has %d clusters", len(list.Items)))
		r.mu.Unlock()
	}
}

// refused wants a refusal to be one that says when to come again, or no answer at all.
func (r *reader) refused(err error, starting bool) {
	var code int32
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		code = status.Status().Code
	}
	if starting && code == http.StatusUnauthorized {
		return
	}
	if code != 0 && code != http.StatusServiceUnavailable && code != http.StatusTooManyRequests {
		r.mu.Lock()
		r.wrong = append(r.wrong, err.Error())
		r.mu.Unlock()
	}
}

func (r *reader) note(what, version string, items []v1alpha1.ClusterStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads++
	if version != "" {
		n, err := strconv.ParseUint(version, 10, 64)
		if err != nil || n < r.version {
			r.wrong = append(r.wrong, fmt.Sprintf("a %s of version %q after %d", what, version, r.version))
		}
		r.version = n
	}
	for i := range items {
		s := &items[i]
		if n := numberIn(s); n < r.number[s.Name] {
			r.wrong = append(r.wrong, fmt.Sprintf("a %s shows report %d of %s after %d", what, n, s.Name, r.number[s.Name]))
		} else {
			r.number[s.Name] = n
		}
		if s.Status.Phase != v1alpha1.ClusterReady {
			r.wrong = append(r.wrong, fmt.Sprintf("a %s shows %s %s", what, s.Name, s.Status.Phase))
		}
	}
}

func (r *reader) check(t *testing.T) {
	t.Helper()
	for i, wrong := range r.wrong {
		if i < 5 {
			t.Error(wrong)
		}
	}
	if r.reads < 50 {
		t.Errorf("only %d reads", r.reads)
	}
}

// toggles choose all clusters and choose none, in turn.
type toggles struct {
	mu   sync.Mutex
	done int
}

func (g *toggles) await(t *testing.T, n int) {
	t.Helper()
	within(t, 2*viewPatience, fmt.Sprint(n, " decisions"), func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.done >= n
	})
}

// startToggles makes and deletes a decision, at whichever replica answers. A write that got no answer is tried again, and may have been done.
func startToggles(t *testing.T, own ownHub, c crowd) *toggles {
	t.Helper()
	decision := &v1alpha2.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Name: "all"}, Decisions: []v1alpha2.ClusterDecision{}}
	for _, name := range c.names {
		decision.Decisions = append(decision.Decisions, v1alpha2.ClusterDecision{ClusterProfileRef: v1alpha2.ClusterProfileReference{Name: ptr.To(name)}})
	}
	g := &toggles{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	toggle := func(i, at int) error {
		call, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		decisions := versioned.NewForConfigOrDie(adminOf(t, own.replicas[at])).MulticlusterV1alpha2().PlacementDecisions(c.namespace)
		if i%2 == 0 {
			_, err := decisions.Create(call, decision, metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) {
				return nil
			}
			return err
		}
		err := decisions.Delete(call, "all", metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
	go func() {
		defer close(done)
		for i := range viewToggles {
			for at := i; ctx.Err() == nil && toggle(i, at%2) != nil; at++ {
				<-time.After(50 * time.Millisecond)
			}
			g.mu.Lock()
			g.done = i + 1
			g.mu.Unlock()
			select {
			case <-ctx.Done():
				return
			case <-time.After(300 * time.Millisecond):
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return g
}
