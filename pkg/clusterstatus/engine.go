package clusterstatus

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/klog/v2"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	pagesv1 "github.com/binnacle-dev/binnacle/pkg/apis/pages/v1"
	"github.com/binnacle-dev/binnacle/pkg/clusterstatus/viewlog"
	"github.com/binnacle-dev/binnacle/pkg/report"
	"github.com/binnacle-dev/binnacle/pkg/report/pages"
)

// Config is what an Engine is made of.
type Config struct {
	// Client of the etcd that the storage is in.
	Client *clientv3.Client
	// Storage says where each resource is kept, and how it is encoded.
	Storage generic.RESTOptionsGetter
	// Parameters are what the view is derived by. The server that starts last decides over those of all.
	Parameters pagesv1.Parameters
	// Clock is the clock of the view.
	Clock *report.Clock
	// Log takes the view.
	Log *viewlog.Log
}

// Engine follows etcd and keeps the view.
type Engine struct {
	Config
	// prefix is what all our keys begin with.
	prefix  string
	sources [3]source

	// names are those of the model.
	names atomic.Pointer[names]

	mu    sync.RWMutex
	model *model
	// loaded is set once, by the first load.
	loaded bool
	// damaged is set once a page was found that cannot be read.
	damaged bool
	// watching is the context of the watch: etcd asks only watches of the same context for their progress.
	watching context.Context
	endWatch context.CancelFunc
	asked    time.Time
}

// New returns an engine that Run starts. Prefix is what all keys of ours in etcd begin with.
func New(config Config, prefix string) (*Engine, error) {
	e := &Engine{Config: config, prefix: prefix}
	var err error
	if e.sources[0], err = newSource(config.Storage, multicluster.Resource("clusterprofiles"), &multicluster.ClusterProfile{}); err != nil {
		return nil, err
	}
	if e.sources[1], err = newSource(config.Storage, multicluster.Resource("placementdecisions"), &multicluster.PlacementDecision{}); err != nil {
		return nil, err
	}
	e.sources[2], err = newSource(config.Storage, binnacle.Resource("clusterstatuses"), &binnacle.ClusterStatus{})
	return e, err
}

// Run keeps the view until the context ends.
func (e *Engine) Run(ctx context.Context) {
	backoff := wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 6, Cap: 3 * time.Second}
	again := backoff
	for ctx.Err() == nil {
		revision, err := e.load(ctx)
		if err == nil {
			again = backoff
			err = e.follow(ctx, revision)
		}
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, errEpoch) {
			continue
		}
		if errors.As(err, new(*pageError)) {
			// Nobody knows what the cluster's reports are, so nobody is told anything of them. The other kinds are served.
			e.Log.Suspend(err)
			e.mu.Lock()
			e.damaged = true
			e.mu.Unlock()
		}
		klog.FromContext(ctx).Error(err, "The view of the clusters has to be loaded again")
		pause(ctx, again.Step())
	}
}

// errEpoch says that the view is derived otherwise from now on.
var errEpoch = errors.New("the view has a new epoch")

// follow applies what happens after a revision, until the view has to be loaded again.
func (e *Engine) follow(ctx context.Context, revision int64) error {
	for {
		last, err := e.watch(ctx, revision)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, rpctypes.ErrCompacted), errors.As(err, new(*applyError)):
			return err
		}
		// A lost leader or connection loses nothing: the watch goes on where it ended.
		klog.FromContext(ctx).V(2).Info("The watch of etcd ended and goes on", "revision", last, "reason", err)
		revision = last
		pause(ctx, rewatch)
	}
}

// rewatch is how long to wait before a watch that ended is opened again.
const rewatch = 200 * time.Millisecond

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// applyError is what keeps a revision from being applied: the view has to be loaded again.
type applyError struct{ err error }

func (e *applyError) Error() string { return e.err.Error() }
func (e *applyError) Unwrap() error { return e.err }

// pageError is a page that cannot be read.
type pageError struct{ err error }

func (e *pageError) Error() string { return "cannot read a page of reports: " + e.err.Error() }
func (e *pageError) Unwrap() error { return e.err }

// watch applies what happens after a revision, and returns up to which it did.
func (e *Engine) watch(ctx context.Context, revision int64) (int64, error) {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	events := e.Client.Watch(ctx, e.prefix, clientv3.WithPrefix(), clientv3.WithRev(revision+1), clientv3.WithProgressNotify())
	e.mu.Lock()
	e.watching, e.endWatch = ctx, cancel
	e.mu.Unlock()
	for response := range events {
		if err := response.Err(); err != nil {
			return revision, err
		}
		if response.IsProgressNotify() {
			revision = max(revision, response.Header.Revision)
			e.Log.Progress(revision)
			continue
		}
		for _, writes := range byRevision(response.Events) {
			if err := e.apply(ctx, writes[0].revision, writes); err != nil {
				return revision, &applyError{err}
			}
			revision = writes[0].revision
		}
	}
	return revision, errors.New("the watch ended")
}

// byRevision groups the events of a response. Etcd never splits a revision over two responses.
func byRevision(events []*clientv3.Event) [][]write {
	var groups [][]write
	for _, event := range events {
		w := write{key: string(event.Kv.Key), revision: event.Kv.ModRevision}
		if event.Type == mvccpb.PUT {
			w.value = event.Kv.Value
		}
		if n := len(groups); n > 0 && groups[n-1][0].revision == w.revision {
			groups[n-1] = append(groups[n-1], w)
		} else {
			groups = append(groups, []write{w})
		}
	}
	return groups
}

// apply takes one revision into the view.
func (e *Engine) apply(ctx context.Context, revision int64, writes []write) error {
	e.mu.Lock()
	head := e.model.state.Head
	clusters, err := e.model.apply(ctx, writes)
	if err != nil {
		// What was read of the revision is half of it: nobody may read or plan on that.
		err = &pageError{err}
		e.Log.Suspend(err)
		e.mu.Unlock()
		return err
	}
	next := e.model.state.Head
	changes := e.model.changes(clusters, e.Log.Get)
	e.mu.Unlock()
	e.Clock.Observe(next.Stamp)
	if next.Epoch != head.Epoch || next.Derivation != head.Derivation {
		return errEpoch
	}
	return e.Log.Append(revision, changes)
}

// Read calls f with the state of the reports and with whether a uid is that of a ClusterProfile. Both must not be used afterwards, nor
// changed. Before the view is loaded, it returns an error.
func (e *Engine) Read(f func(state *pages.State, exists func(types.UID) bool)) error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if err := e.Log.Ready(); err != nil {
		return err
	}
	f(e.model.state, e.model.exists)
	return nil
}

// WaitFor returns once the view has a revision.
func (e *Engine) WaitFor(ctx context.Context, revision int64) error {
	return e.Log.WaitFor(ctx, revision)
}

// Profile returns the uid of a ClusterProfile as the view has it.
func (e *Engine) Profile(cluster string) (types.UID, bool) { return e.names.Load().get(cluster) }

// Check returns nil once the view can be served; else the error is the answer, and says why not.
func (e *Engine) Check() error { return e.Log.Ready() }

// Loaded says whether the view was served at any time.
func (e *Engine) Loaded() bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.loaded
}

// Started says whether the server need not wait for the view: it is loaded, or cannot be before somebody mends the pages, and until
// then whoever asks for it is told so.
func (e *Engine) Started() bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.loaded || e.damaged
}

// PagesPrefix is what the keys of the pages begin with.
func (e *Engine) PagesPrefix() string { return e.sources[2].prefix }

// Transformer is what stands between a page and its bytes in etcd.
func (e *Engine) Transformer() value.Transformer { return e.sources[2].transformer() }
