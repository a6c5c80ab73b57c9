package main

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	rollouts "github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned/typed/binnacle/v1alpha1"
	informers "github.com/binnacle-dev/binnacle/pkg/generated/informers/externalversions/multicluster/v1alpha2"
	listers "github.com/binnacle-dev/binnacle/pkg/generated/listers/multicluster/v1alpha2"
)

// theDecision is the key in the queue that stands for the decision itself. All others are clusters.
var theDecision = cache.ObjectName{}

// syncer brings members to what the last whole decision says. The queue gives each cluster tries of its own.
type syncer struct {
	options
	text      string // of the manifest
	members   *members
	rollouts  rollouts.RolloutInterface
	decisions listers.PlacementDecisionLister
	profiles  listers.ClusterProfileLister
	synced    []cache.InformerSynced
	queue     workqueue.TypedRateLimitingInterface[cache.ObjectName]

	mu sync.Mutex
	// last is the last decision that was whole, nil before the first.
	last *decision
	// told is the feedback that was given last, by cluster.
	told map[cache.ObjectName]feedback
}

func newSyncer(o options, text string, m *members, r rollouts.RolloutInterface, d informers.PlacementDecisionInformer, p informers.ClusterProfileInformer) *syncer {
	backoff := workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](200*time.Millisecond, time.Minute)
	s := &syncer{options: o, text: text, members: m, rollouts: r, decisions: d.Lister(), profiles: p.Lister(),
		queue: workqueue.NewTypedRateLimitingQueue(backoff), told: map[cache.ObjectName]feedback{}}
	s.queue.Add(theDecision)
	// Handlers only say what to look at: what there is, workers read from the caches.
	enqueue := func(informer cache.SharedIndexInformer, key func(any) cache.ObjectName) {
		add := func(object any) { s.queue.Add(key(object)) }
		_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: add, DeleteFunc: add, UpdateFunc: func(_, object any) { add(object) }})
		s.synced = append(s.synced, informer.HasSynced)
	}
	enqueue(d.Informer(), func(any) cache.ObjectName { return theDecision })
	enqueue(p.Informer(), func(object any) cache.ObjectName {
		name, _ := cache.DeletionHandlingObjectToName(object)
		return name
	})
	return s
}

func (s *syncer) work(ctx context.Context) {
	for {
		key, quit := s.queue.Get()
		if quit {
			return
		}
		if err := s.sync(ctx, key); ctx.Err() != nil {
			return
		} else if err != nil {
			klog.ErrorS(err, "Not there yet, trying again", "cluster", key, "failures", s.queue.NumRequeues(key))
			s.queue.AddRateLimited(key)
		} else {
			s.queue.Forget(key)
		}
		s.queue.Done(key)
	}
}

func (s *syncer) sync(ctx context.Context, key cache.ObjectName) error {
	if key == theDecision {
		return s.read()
	}
	s.mu.Lock()
	d := s.last
	s.mu.Unlock()
	if d == nil {
		return nil // The first whole decision brings every cluster here again.
	}
	profile, err := s.profiles.ClusterProfiles(key.Namespace).Get(key.Name)
	in := d.clusters.Has(key)
	switch {
	case in && err == nil:
		err = s.members.apply(ctx, profile, s.text, s.key)
	case err == nil:
		err = s.members.remove(ctx, profile, s.text, s.key)
	case !in && apierrors.IsNotFound(err):
		err = nil // Nobody says any more how to reach it.
	}
	if !in {
		return err
	}
	if err != nil && s.queue.NumRequeues(key)+1 < s.attempts {
		return err
	}
	return errors.Join(err, s.tell(ctx, d, key, err))
}

// read takes the decision that the cache has, if it is whole, and has the clusters looked at that it concerns. A revision concerns all of
// its clusters: each may want feedback.
func (s *syncer) read() error {
	slices, err := s.decisions.List(labels.Everything())
	if err != nil {
		return err
	}
	next, err := whole(slices)
	if err != nil {
		klog.InfoS("Waiting for the rest of the decision", "because", err)
		return nil // The slice that is missing is an event when it comes.
	}
	s.mu.Lock()
	last := s.last
	s.last = next
	s.mu.Unlock()
	if last == nil {
		// What left while nobody watched is found only by looking at all.
		profiles, err := s.profiles.List(labels.Everything())
		if err != nil {
			return err
		}
		for _, profile := range profiles {
			s.queue.Add(cache.MetaObjectToName(profile))
		}
		last = &decision{}
	}
	if last.rollout == next.rollout && last.revision == next.revision && last.clusters.Equal(next.clusters) {
		return nil
	}
	klog.InfoS("The decision changed", "revision", next.revision, "clusters", len(next.clusters))
	for cluster := range last.clusters.Union(next.clusters) {
		s.queue.Forget(cluster) // Failures of another revision do not count.
		s.queue.Add(cluster)
	}
	return nil
}
