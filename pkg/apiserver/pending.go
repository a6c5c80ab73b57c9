package apiserver

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
)

// errNotAsked is the state of a check before the first answer.
var errNotAsked = errors.New("not known yet")

// pending is a readiness check of something that has to come true once after the start. Its name says what, since a health check tells
// its reason to nobody without rights.
type pending struct {
	name string
	mu   sync.Mutex
	err  error
}

func newPending(name string) pending { return pending{name: name, err: errNotAsked} }

// Name implements healthz.HealthChecker.
func (p *pending) Name() string { return p.name }

// Check implements healthz.HealthChecker.
func (p *pending) Check(*http.Request) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// poll asks until there is no error, and logs each new error once.
func (p *pending) poll(ctx context.Context, interval time.Duration, ask func(context.Context) error) {
	// The only error is the end of the context, at shutdown.
	_ = wait.PollUntilContextCancel(ctx, interval, true, func(ctx context.Context) (bool, error) {
		err := ask(ctx)
		p.mu.Lock()
		defer p.mu.Unlock()
		if err != nil && p.err.Error() != err.Error() {
			klog.ErrorS(err, "Not ready", "check", p.name)
		}
		p.err = err
		return err == nil, nil
	})
}
