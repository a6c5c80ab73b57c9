package clusterstatus

import (
	"context"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	pagesv1 "github.com/binnacle-dev/binnacle/pkg/apis/pages/v1"
	"github.com/binnacle-dev/binnacle/pkg/clusterstatus/derive"
	"github.com/binnacle-dev/binnacle/pkg/report"
	"github.com/binnacle-dev/binnacle/pkg/report/pages"
)

// loadPage is how many keys one request of a load asks etcd for.
const loadPage = 1000

// load reads everything at one revision, begins a new generation of the log with it, and returns the revision.
func (e *Engine) load(ctx context.Context) (int64, error) {
	model, revision, err := e.read(ctx)
	if err != nil {
		return 0, err
	}
	head := model.state.Head
	// Without a head there is no epoch: this is the first server of all, or somebody deleted the pages.
	if head.Epoch == 0 || !e.Loaded() && (head.Derivation != derive.Version || head.Parameters != e.Parameters) {
		if err := e.beginEpoch(ctx, model.state); err != nil {
			return 0, err
		}
		return 0, errEpoch // It is part of what has to be read.
	}
	if head.Derivation != derive.Version {
		err := fmt.Errorf("it is derived by version %d of the derive function since another server started, and this one has version %d",
			head.Derivation, derive.Version)
		e.Log.Suspend(err)
		return 0, e.untilHeadIsOurs(ctx, revision)
	}
	objects := make([]*binnacle.ClusterStatus, 0, len(model.profiles))
	for cluster := range model.profiles {
		objects = append(objects, model.derive(cluster))
	}
	e.mu.Lock()
	e.model, e.loaded = model, true
	e.names.Store(model.names)
	e.mu.Unlock()
	e.Clock.Observe(head.Stamp)
	e.Log.Reset(revision, objects)
	return revision, nil
}

// read reads everything at one revision.
func (e *Engine) read(ctx context.Context) (*model, int64, error) {
	var writes []write
	revision := int64(0)
	from, end := e.prefix, clientv3.GetPrefixRangeEnd(e.prefix)
	for {
		options := []clientv3.OpOption{clientv3.WithRange(end), clientv3.WithLimit(loadPage)}
		if revision != 0 {
			options = append(options, clientv3.WithRev(revision))
		}
		response, err := e.Client.Get(ctx, from, options...)
		if err != nil {
			return nil, 0, err
		}
		if revision == 0 {
			revision = response.Header.Revision
		}
		for _, kv := range response.Kvs {
			writes = append(writes, write{key: string(kv.Key), value: kv.Value, revision: kv.ModRevision})
		}
		if !response.More || len(response.Kvs) == 0 {
			break
		}
		from = string(response.Kvs[len(response.Kvs)-1].Key) + "\x00"
	}
	m := newModel(e.sources[0], e.sources[1], e.sources[2])
	if _, err := m.apply(ctx, writes); err != nil {
		return nil, 0, &pageError{err}
	}
	return m, revision, nil
}

// beginEpoch makes this server's way to derive the view that of all servers.
func (e *Engine) beginEpoch(ctx context.Context, state *pages.State) error {
	head := state.Head
	head.Epoch++
	head.Derivation, head.Parameters = derive.Version, e.Parameters
	return e.swapHead(ctx, head, state.HeadRevision)
}

// swapHead writes the head if nobody else did since.
func (e *Engine) swapHead(ctx context.Context, head pagesv1.Head, since int64) error {
	key := e.sources[2].prefix + pages.HeadKey
	value, err := report.Seal(ctx, e.sources[2].transformer(), key, &head)
	if err != nil {
		return err
	}
	// If it is lost to another server, the load that follows finds what that one wrote.
	_, err = e.Client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(key), "=", since)).Then(clientv3.OpPut(key, string(value))).Commit()
	return err
}

// untilHeadIsOurs returns errEpoch once a server of this version begins an epoch, or the head is gone. It looks at the head alone: the
// others publish all the time.
func (e *Engine) untilHeadIsOurs(ctx context.Context, revision int64) error {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	key := e.sources[2].prefix + pages.HeadKey
	for response := range e.Client.Watch(ctx, key, clientv3.WithRev(revision+1)) {
		if err := response.Err(); err != nil {
			return err
		}
		for _, event := range response.Events {
			if event.Type == mvccpb.DELETE {
				return errEpoch
			}
			opened, _, err := e.sources[2].open(ctx, key, event.Kv.Value)
			if err != nil {
				return &pageError{err}
			}
			if head, err := pages.DecodeHead(opened); err != nil || head.Derivation == derive.Version {
				return errEpoch
			}
		}
	}
	return ctx.Err()
}
