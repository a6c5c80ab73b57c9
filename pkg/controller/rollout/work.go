package rollout

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// repairTries is how often a rollout is tried to be repaired without the lease, 25 s in all. Somebody holds that then, and goes on trying.
const repairTries = 8

// bridge is for how long after the start what is due is done at its time without the lease: a predecessor that was killed keeps that from us for its
// TTL, which etcd begins anew where it was killed too, and a soak must not end so much later.
const bridge = 2 * leaseTTL

// work ticks what is in the queue until that is shut down.
func (l *Loop) work(ctx context.Context) {
	for {
		key, shutDown := l.queue.Get()
		if shutDown {
			return
		}
		l.process(ctx, key)
		l.queue.Done(key)
	}
}

// process ticks a rollout if that is this replica's to do, and sees to when it is ticked next.
func (l *Loop) process(ctx context.Context, key types.NamespacedName) {
	term, repair := l.held.Load(), l.isToRepair(key)
	if ctx.Err() != nil || term == nil && !repair {
		l.queue.Forget(key)
		return
	}
	if term != nil {
		if err := term.confirm(); err != nil {
			klog.FromContext(ctx).V(2).Info("A rollout is not moved", "rollout", key, "reason", err)
			// Who holds the lease now ticks it. Where nobody knows, it is tried again, as what is to be repaired.
			if repair || !errors.Is(err, errLost) {
				l.queue.AddRateLimited(key)
			}
			return
		}
		ctx = term.ctx
	}
	next, err := l.tick(ctx, key)
	if err != nil {
		if term == nil && l.queue.NumRequeues(key) >= repairTries-1 {
			l.repaired(key)
		}
		l.queue.AddRateLimited(key)
		return
	}
	l.queue.Forget(key)
	if term == nil && !next.IsZero() && next.Before(l.begun.Add(bridge)) {
		l.queue.AddAfter(key, max(soonest, next.Sub(l.Clock.Now()))) // It is still to be repaired.
		return
	}
	l.repaired(key)
	if term != nil && !next.IsZero() {
		l.queue.AddAfter(key, max(soonest, next.Sub(l.Clock.Now())))
	}
}

func (l *Loop) isToRepair(key types.NamespacedName) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.repairs.Has(key)
}

// repaired says that a rollout needs no tick without the lease any more.
func (l *Loop) repaired(key types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.repairs.Delete(key)
}
