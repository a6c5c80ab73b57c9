package report

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/binnacle-dev/binnacle/pkg/report/pages"
)

const (
	// etcdPatience is how long a publication waits for etcd, and the view for what etcd took.
	etcdPatience = 5 * time.Second
	// attempts is how often a publication is planned anew because another replica came first, before it waits for the next turn.
	attempts = 8
)

// View is what a publication is planned on.
type View interface {
	// Read calls f with the state of the reports and with whether a uid is that of a ClusterProfile.
	Read(f func(state *pages.State, exists func(types.UID) bool)) error
	// WaitFor returns once the view has a revision.
	WaitFor(ctx context.Context, revision int64) error
}

// Publisher writes what arrived to etcd, every few seconds.
type Publisher struct {
	// Client of etcd, Prefix of the pages' keys, and what stands between a page and its bytes.
	Client      *clientv3.Client
	Prefix      string
	Transformer value.Transformer
	// Table has what arrived, and View what is published.
	Table *Table
	View  View
	// Clock is the clock of the view.
	Clock *Clock
	// Interval is how often to publish.
	Interval time.Duration
	// Wall is what turns are counted by.
	Wall clock.WithTicker

	// turn is held by who publishes.
	turn     chan struct{}
	makeTurn sync.Once
	// found is the sequence that this process found, and resumed whether it has published itself since.
	found   int64
	begun   bool
	resumed bool
}

// Run publishes until the context ends.
func (p *Publisher) Run(ctx context.Context) {
	// Replicas that start together take turns.
	select {
	case <-ctx.Done():
		return
	case <-p.Wall.After(time.Duration(rand.Int64N(int64(p.Interval)))):
	}
	ticker := p.Wall.NewTicker(p.Interval)
	defer ticker.Stop()
	for {
		if err := p.Publish(ctx); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Cannot publish reports; they are kept and tried again", "after", p.Interval)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}

// Publish writes everything that is to be published now.
func (p *Publisher) Publish(ctx context.Context) error {
	p.makeTurn.Do(func() { p.turn = make(chan struct{}, 1) })
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	started := p.Wall.Now()
	defer func() { publishDuration.Observe(p.Wall.Since(started).Seconds()) }()
	for range attempts {
		more, err := p.publishOnce(ctx)
		if err != nil {
			publishErrors.Inc()
			return err
		}
		if !more {
			break
		}
	}
	return nil
}

// publishOnce writes one publication. It says whether something may be left: another replica came first, or it was too much for one.
func (p *Publisher) publishOnce(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, etcdPatience)
	defer cancel()
	arrivals := p.Table.Take()
	var publication *pages.Publication
	var head int64
	if err := p.View.Read(func(state *pages.State, exists func(types.UID) bool) {
		head = state.HeadRevision
		publication = state.Plan(pages.Input{
			Now: max(p.Clock.Now(), state.Head.Stamp), Arrivals: arrivals, Exists: exists,
			Resumed: p.resume(state), KeepAlive: p.Interval.Milliseconds(),
		})
	}); err != nil {
		// Nothing can be planned on a view that is not loaded; the reports wait, and whoever asks for the view is told why.
		klog.FromContext(ctx).V(2).Info("No reports are published while the view is not served", "reason", err)
		return false, nil
	}
	if !publication.Due {
		p.Table.Published(publication.Published)
		return false, nil
	}
	written, err := p.operations(ctx, publication)
	if err != nil {
		return false, err
	}
	response, err := p.Client.Txn(ctx).
		If(clientv3.Compare(clientv3.ModRevision(p.Prefix+pages.HeadKey), "=", head)).
		Then(written.operations...).Commit()
	if err != nil {
		return false, err
	}
	if response.Succeeded {
		p.resumed = true
		p.Table.Published(publication.Published)
		written.count(publication)
	} else {
		publishConflicts.Inc()
	}
	// The next one is planned on what is in etcd now.
	if err := p.View.WaitFor(ctx, response.Header.Revision); err != nil {
		return false, err
	}
	return !response.Succeeded || len(publication.Published) < len(arrivals), nil
}

// resume says whether this is the first publication of the process, and nobody else published since it began: then no replica received
// reports in the meantime.
func (p *Publisher) resume(state *pages.State) bool {
	if !p.begun {
		p.begun, p.found = true, state.Head.Sequence
	}
	if p.resumed || state.Head.Sequence != p.found || state.Head.Stamp == 0 {
		return false
	}
	return p.Clock.Ahead() > time.Second || p.Clock.Now()-state.Head.Stamp > (p.Interval+time.Second).Milliseconds()
}
