package rollout

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
)

const (
	// leaseKey is below our prefix, and no kind's: those are below a group, and groups have a dot.
	leaseKey = "leases/rollouts"
	// leaseTTL is how long a holder that says nothing more keeps the others waiting.
	leaseTTL = 5 * time.Second
	// grantPatience is how long etcd may take to make a lease.
	grantPatience = 10 * time.Second
	// confirmPatience is how long the question whether the lease is still held may take.
	confirmPatience = 2 * time.Second
	// stopPatience is how long a shutdown waits for ticks to end, and for etcd to take the lease back.
	stopPatience = 2 * time.Second
)

// errLost says that another replica may hold the lease.
var errLost = errors.New("the lease is lost")

// term is the time for which this replica holds the lease.
type term struct {
	// ctx ends with the lease, or with Run.
	ctx    context.Context
	cancel context.CancelFunc
	client *clientv3.Client
	// key is in etcd for as long as the lease is held, with this revision.
	key      string
	revision int64
}

// confirm returns an error unless the lease is held, as etcd has it now. What the session knows may be old after the process was stopped.
func (t *term) confirm() error {
	if t.ctx.Err() != nil {
		return errLost
	}
	ctx, cancel := context.WithTimeout(t.ctx, confirmPatience)
	defer cancel()
	response, err := t.client.Get(ctx, t.key, clientv3.WithKeysOnly())
	switch {
	case err != nil:
		return fmt.Errorf("cannot ask for the lease: %w", err)
	case len(response.Kvs) == 0 || response.Kvs[0].CreateRevision != t.revision:
		t.cancel()
		return errLost
	}
	return nil
}

// campaign holds the lease whenever it can be had, until the context ends. Workers are those that may be at a tick.
func (l *Loop) campaign(ctx context.Context, workers *sync.WaitGroup) {
	backoff := wait.Backoff{Duration: firstRetry, Factor: 2, Jitter: 0.2, Steps: 6, Cap: 3 * time.Second}
	again := backoff
	for ctx.Err() == nil {
		had, err := l.stand(ctx, workers)
		if had {
			again = backoff
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		klog.FromContext(ctx).V(2).Info("The lease for moving rollouts cannot be had or kept; it is tried again", "reason", err)
		select {
		case <-ctx.Done():
		case <-time.After(again.Step()): // Not by the clock of the rollouts: leases have their own.
		}
	}
}

// stand waits for the lease, and serves a term. It says whether there was one.
func (l *Loop) stand(ctx context.Context, workers *sync.WaitGroup) (had bool, err error) {
	// The session outlives the context, to give the lease back.
	inSession, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	ended, late := context.AfterFunc(ctx, abandon), time.AfterFunc(grantPatience, abandon)
	session, err := concurrency.NewSession(l.Client, concurrency.WithTTL(int(leaseTTL/time.Second)), concurrency.WithContext(inSession))
	if err != nil {
		return false, err
	}
	ended()
	late.Stop()
	defer func() {
		timer := time.AfterFunc(stopPatience, abandon)
		defer timer.Stop()
		if closed := session.Close(); closed != nil && ctx.Err() != nil {
			klog.FromContext(ctx).Info("The lease for moving rollouts is not given back; it ends by itself", "after", leaseTTL, "reason", closed)
		}
	}()
	t := &term{client: l.Client}
	t.ctx, t.cancel = context.WithCancel(ctx)
	defer t.cancel()
	defer context.AfterFunc(session.Ctx(), t.cancel)()
	election := concurrency.NewElection(session, l.Prefix+leaseKey)
	// A member of etcd that lost the others would let us wait for what it does not hear of.
	if err := election.Campaign(clientv3.WithRequireLeader(t.ctx), l.Identity); err != nil {
		return false, err
	}
	t.key, t.revision = election.Key(), election.Rev()
	l.serve(t)
	if ctx.Err() != nil {
		waitFor(workers, stopPatience)
	}
	return true, nil
}

// serve has rollouts ticked until the term ends.
func (l *Loop) serve(t *term) {
	logger := klog.FromContext(t.ctx).WithValues("key", t.key)
	logger.Info("This replica moves the rollouts from now on")
	holder.Set(1)
	l.held.Store(t)
	defer func() {
		l.held.Store(nil)
		holder.Set(0)
		logger.Info("This replica moves the rollouts no longer")
	}()
	ticker := l.Clock.NewTicker(Resync)
	defer ticker.Stop()
	for isNew := true; ; isNew = false {
		l.resync(t.ctx, isNew)
		select {
		case <-t.ctx.Done():
			return
		case <-ticker.C():
		}
	}
}

// waitFor waits for a group, but not for ever.
func waitFor(group *sync.WaitGroup, patience time.Duration) {
	done := make(chan struct{})
	go func() { defer close(done); group.Wait() }()
	select {
	case <-done:
	case <-time.After(patience):
	}
}
