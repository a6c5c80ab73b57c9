package clusterstatus

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/binnacle-dev/binnacle/pkg/clusterstatus/viewlog"
	"github.com/binnacle-dev/binnacle/pkg/report/pages"
)

const (
	// barrierPatience is how long a consistent read waits for etcd.
	barrierPatience = 5 * time.Second
	// progressDelay is how long an event that is on its way has before etcd is asked how far the watch is, and progressInterval how
	// often it is asked.
	progressDelay    = 2 * time.Millisecond
	progressInterval = 20 * time.Millisecond
	// progressPatience is how long it may take to ask: while the client opens its stream to etcd anew, nobody takes the question.
	progressPatience = 100 * time.Millisecond
)

// Barrier returns once the view has everything that was in etcd when it was called, and up to which revision that is. Its errors are
// answers for a client.
func (e *Engine) Barrier(ctx context.Context) (int64, error) {
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, barrierPatience)
	defer cancel()
	// A read of a key that is always there, and that etcd does linearizably: its value does not matter.
	response, err := e.Client.Get(ctx, e.sources[2].prefix+pages.HeadKey, clientv3.WithCountOnly())
	if caller.Err() != nil {
		return 0, apierrors.NewTimeoutError("the request ended before etcd answered", 1)
	} else if err != nil {
		return 0, unavailable(fmt.Errorf("etcd does not answer: %w", err))
	}
	revision := response.Header.Revision
	wait := progressDelay
	for {
		patience, cancel := context.WithTimeout(ctx, wait)
		err := e.WaitFor(patience, revision)
		cancel()
		if err == nil {
			return revision, nil
		}
		if ctx.Err() != nil {
			return 0, unavailable(fmt.Errorf("the view is behind etcd: %w", ctx.Err()))
		}
		if err := e.Log.Ready(); err != nil {
			return 0, err
		}
		e.askForProgress()
		wait = progressInterval
	}
}

// askForProgress makes etcd say how far the watch is, once in a while for all who wait.
func (e *Engine) askForProgress() {
	e.mu.Lock()
	ctx, due := e.watching, time.Since(e.asked) >= progressInterval/2
	if due {
		e.asked = time.Now()
	}
	e.mu.Unlock()
	if !due || ctx == nil || ctx.Err() != nil {
		return
	}
	// A derived context belongs to the same stream, by its metadata.
	ctx, cancel := context.WithTimeout(ctx, progressPatience)
	defer cancel()
	if err := e.Client.RequestProgress(ctx); err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).V(2).Info("Cannot ask etcd for the progress of the watch", "reason", err)
	}
}

// unavailable is 503 with the time after which to try again.
func unavailable(err error) error {
	return viewlog.Unavailable(fmt.Sprintf("the clusters' status cannot be read now: %v", err))
}
