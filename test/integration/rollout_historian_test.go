package integration

import (
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	binnacleapi "github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// call is a request that is about to be sent.
type call struct {
	verb binnacleapi.RolloutVerb
	spec v1alpha1.RolloutActionSpec
}

// historian sees each version of the Rollouts of a namespace, by a watch, and holds it against the one before and the invariants of design
// section 6. The targets are to stay as they are meanwhile.
type historian struct {
	t  *testing.T
	mu sync.Mutex
	// calls by their reasons, of which each has its own.
	calls map[string]call
	last  map[string]*v1alpha1.Rollout
	// sets are the clusters that were through at each revision of a Rollout.
	sets map[string]map[int64][]string
	// heard is how often the record has a reason, and verbs how often it has a verb.
	heard, verbs map[string]int
}

func startHistorian(d decider) *historian {
	d.t.Helper()
	h := &historian{t: d.t, calls: map[string]call{}, last: map[string]*v1alpha1.Rollout{}, sets: map[string]map[int64][]string{}, heard: map[string]int{}, verbs: map[string]int{}}
	list, err := d.rollouts().List(d.t.Context(), metav1.ListOptions{})
	if err != nil {
		d.t.Fatal(err)
	}
	for i := range list.Items {
		h.last[list.Items[i].Name], h.sets[list.Items[i].Name] = &list.Items[i], map[int64][]string{0: nil}
	}
	events, err := d.rollouts().Watch(d.t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		d.t.Fatal(err)
	}
	go func() {
		for event := range events.ResultChan() {
			if now, ok := event.Object.(*v1alpha1.Rollout); ok && event.Type == watch.Modified {
				h.see(now)
			} else if d.t.Context().Err() == nil {
				d.t.Errorf("the watch says %s %v", event.Type, event.Object)
			}
		}
	}()
	return h
}

// announce notes a call before it is sent. Its reason is its name.
func (h *historian) announce(c call) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls[c.spec.Reason] = c
}

// now is the newest version that was seen of a Rollout.
func (h *historian) now(name string) *v1alpha1.Rollout {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last[name]
}

// seen returns how often the record has each reason and each verb.
func (h *historian) seen() (heard, verbs map[string]int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.heard, h.verbs
}

func (h *historian) see(now *v1alpha1.Rollout) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.last[now.Name]
	h.last[now.Name] = now
	added, ok := addedTransitions(before.Status.Transitions, now.Status.Transitions)
	if !ok {
		h.t.Errorf("%s: the record was %v and is %v", now.Name, verbsOf(&before.Status), verbsOf(&now.Status))
		return
	}
	for _, transition := range added {
		h.verbs[transition.Verb]++
		if transition.Reason != "" {
			h.heard[transition.Reason]++
		}
	}
	if wrong := h.wrong(before, now, added); wrong != "" {
		h.t.Errorf("%s: %s\nbefore %+v\nadded %+v\nafter %+v", now.Name, wrong, before.Status, added, now.Status)
	}
	h.sets[now.Name][now.Status.Revision] = through(&now.Status)
}
