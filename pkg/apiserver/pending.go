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

// patience is how long an error may last before it is logged: most are over before anybody could do something about them.
const patience = 3 * time.Second

// poll asks until there is no error, and logs each error once that lasts.
func (p *pending) poll(ctx context.Context, interval time.Duration, ask func(context.Context) error) {
	var since time.Time
	logged := false
	// The only error is the end of the context, at shutdown.
	_ = wait.PollUntilContextCancel(ctx, interval, true, func(ctx context.Context) (bool, error) {
		err := ask(ctx)
		p.mu.Lock()
		defer p.mu.Unlock()
		if err != nil && p.err.Error() != err.Error() {
			since, logged = time.Now(), false
		}
		if err != nil && !logged && time.Since(since) > patience {
			klog.ErrorS(err, "Not ready", "check", p.name)
			logged = true
		}
		p.err = err
		return err == nil, nil
	})
}
