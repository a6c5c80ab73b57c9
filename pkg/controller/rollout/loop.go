package rollout

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// Resync is how often everything unfinished is ticked, for what nobody tells of.
	Resync = 5 * time.Second
	// firstRetry and LastRetry are how long a rollout whose tick failed waits for the next: twice as long each time.
	firstRetry = 100 * time.Millisecond
	LastRetry  = 30 * time.Second
	// soonest is how long a rollout waits at least that is due at once: each tick takes one step, and others are to have their turn.
	soonest = 100 * time.Millisecond
	// tickPatience is how long a tick may take: it may write a hundred slices.
	tickPatience = 30 * time.Second
	// queueName is the name in the metrics of client-go's workqueue.
	queueName = "rollouts"
)

// Rollouts are what the loop moves.
type Rollouts interface {
	// Tick moves a rollout as far as is due and repairs its slices. next is when something is due though nothing else happens, zero for
	// never. It may be called by several replicas at once: what it decides must be stored by compare-and-swap.
	Tick(ctx context.Context, namespace, name string) (next time.Time, err error)
	// List returns the rollouts that a Tick may have something to do for, from memory.
	List(ctx context.Context) ([]types.NamespacedName, error)
}

// Config says what a Loop works with.
type Config struct {
	// Client of etcd, and Prefix that all our keys in it begin with, with a slash at the end.
	Client *clientv3.Client
	Prefix string
	// Identity is how this replica calls itself, for people who look at the key of the lease.
	Identity string
	Rollouts Rollouts
	// Workers is how many rollouts are ticked at once, at least 1.
	Workers int
	// Clock is what times are counted by. The lease goes by etcd's.
	Clock clock.WithTicker
}

// Loop moves rollouts.
type Loop struct {
	Config
	queue workqueue.TypedRateLimitingInterface[types.NamespacedName]
	// held is the term of this replica, nil while it does not hold the lease.
	held atomic.Pointer[term]
	// begun is when Run was called.
	begun time.Time

	mu sync.Mutex
	// repairs are what is left of the pass that is made at the start without a lease.
	repairs sets.Set[types.NamespacedName]
}

// New returns a Loop that Run starts.
func New(config Config) *Loop {
	registerMetrics()
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](firstRetry, LastRetry)
	return &Loop{Config: config, repairs: sets.New[types.NamespacedName](), queue: workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
		workqueue.TypedRateLimitingQueueConfig[types.NamespacedName]{Name: queueName, Clock: config.Clock})}
}

// Enqueue says that a rollout was written. It is ticked at once if this replica holds the lease; another that does finds it with its next
// resync.
func (l *Loop) Enqueue(namespace, name string) {
	if l.held.Load() == nil {
		return
	}
	key := types.NamespacedName{Namespace: namespace, Name: name}
	l.queue.Forget(key) // What failed before may go well with what was written.
	l.queue.Add(key)
}

// Run moves rollouts until the context ends, and gives the lease back then.
func (l *Loop) Run(ctx context.Context) {
	l.begun = l.Clock.Now()
	var workers, others sync.WaitGroup
	for range l.Workers {
		workers.Go(func() { l.work(ctx) })
	}
	others.Go(func() { l.repairAll(ctx) })
	others.Go(func() { l.campaign(ctx, &workers) })
	<-ctx.Done()
	l.queue.ShutDown()
	others.Wait()
}

// repairAll has everything unfinished ticked once.
func (l *Loop) repairAll(ctx context.Context) {
	backoff := wait.Backoff{Duration: firstRetry, Factor: 2, Jitter: 0.2, Steps: 6, Cap: 3 * time.Second}
	for {
		found, err := l.Rollouts.List(ctx)
		if err == nil {
			l.mu.Lock()
			l.repairs.Insert(found...)
			l.mu.Unlock()
			for _, key := range found {
				l.queue.Add(key)
			}
			return
		}
		klog.FromContext(ctx).V(2).Info("Rollouts are not listed yet", "reason", err)
		select {
		case <-ctx.Done():
			return
		case <-l.Clock.After(backoff.Step()):
		}
	}
}

// resync has everything unfinished ticked now, except what waits to be tried again. In a new term nothing waits: what failed in an earlier
// one may have failed because that was about to end.
func (l *Loop) resync(ctx context.Context, isNew bool) {
	found, err := l.Rollouts.List(ctx)
	if err != nil {
		if ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Cannot list the rollouts; it is tried again", "after", Resync)
		}
		return
	}
	for _, key := range found {
		if isNew {
			l.queue.Forget(key)
		}
		if l.queue.NumRequeues(key) == 0 {
			l.queue.Add(key)
		}
	}
}
