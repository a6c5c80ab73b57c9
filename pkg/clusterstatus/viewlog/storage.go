package viewlog

import (
	"context"
	"errors"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// freshWithin is how long a read waits for a resourceVersion that is still to come.
const freshWithin = 3 * time.Second

// StorageOptions are what a storage over a log needs.
type StorageOptions struct {
	// Prefix is what the keys of the registry begin with, such as /clusterstatuses. The rest of a key is /namespace/name.
	Prefix string
	// Resource is named in errors.
	Resource schema.GroupResource
	// Attributes returns what selectors look at. Every storage over a log must be given the same: its answers are kept with the objects.
	Attributes storage.AttrFunc
	// Barrier makes a linearizable read of etcd and returns its revision once the log has processed it. It must give up by itself after a
	// few seconds. Its errors are answered as they are.
	Barrier func(ctx context.Context) (revision int64, err error)
}

// store serves a log as the storage of a read-only kind.
type store struct {
	log *Log
	StorageOptions
	// prefix is Prefix with a slash before and behind.
	prefix    string
	versioner storage.Versioner
}

// NewStorage returns a storage over a log: reads and watches as of a kind that lies in etcd, and no writes.
func NewStorage(l *Log, o StorageOptions) storage.Interface {
	return &store{log: l, StorageOptions: o, prefix: "/" + strings.Trim(o.Prefix, "/") + "/", versioner: storage.APIObjectVersioner{}}
}

// Versioner implements storage.Interface.
func (s *store) Versioner() storage.Versioner { return s.versioner }

// Create implements storage.Interface.
func (s *store) Create(context.Context, string, runtime.Object, runtime.Object, uint64) error {
	return apierrors.NewMethodNotSupported(s.Resource, "create")
}

// Delete implements storage.Interface.
func (s *store) Delete(context.Context, string, runtime.Object, *storage.Preconditions, storage.ValidateObjectFunc, runtime.Object,
	storage.DeleteOptions) error {
	return apierrors.NewMethodNotSupported(s.Resource, "delete")
}

// GuaranteedUpdate implements storage.Interface.
func (s *store) GuaranteedUpdate(context.Context, string, runtime.Object, bool, *storage.Preconditions, storage.UpdateFunc,
	runtime.Object) error {
	return apierrors.NewMethodNotSupported(s.Resource, "update")
}

// Stats implements storage.Interface.
func (s *store) Stats(context.Context) (storage.Stats, error) {
	if err := s.log.Ready(); err != nil {
		return storage.Stats{}, err
	}
	return storage.Stats{ObjectCount: int64(s.log.Stats().Objects)}, nil
}

// ReadinessCheck implements storage.Interface.
func (s *store) ReadinessCheck() error { return s.log.Ready() }

// RequestWatchProgress implements storage.Interface. Reads that must be fresh pass the barrier, so there is nothing to ask for.
func (s *store) RequestWatchProgress(context.Context) error { return nil }

// GetCurrentResourceVersion implements storage.Interface.
func (s *store) GetCurrentResourceVersion(ctx context.Context) (uint64, error) {
	at, err := s.consistent(ctx)
	return at.rv, err
}

// EnableResourceSizeEstimation implements storage.Interface. The log knows sizes by itself.
func (s *store) EnableResourceSizeEstimation(storage.KeysFunc) error { return nil }

// CompactRevision implements storage.Interface. Nobody above keeps a history that should be cut with the log's.
func (s *store) CompactRevision() int64 { return 0 }

// Get implements storage.Interface.
func (s *store) Get(ctx context.Context, key string, o storage.GetOptions, out runtime.Object) error {
	scope, err := s.scope(key, false)
	if err != nil {
		return err
	}
	at, err := s.atLeast(ctx, o.ResourceVersion)
	if err != nil {
		return err
	}
	e := at.get(scope)
	switch {
	case e != nil:
		// A copy, since a caller may take the object for its own.
		e.object.DeepCopyInto(out.(*binnacle.ClusterStatus))
		return nil
	case o.IgnoreNotFound:
		return runtime.SetZeroValue(out)
	default:
		return storage.NewKeyNotFoundError(key, int64(at.rv))
	}
}

// scope returns the part of a key that the log knows: namespace/name, or what the keys below it begin with.
func (s *store) scope(key string, recursive bool) (string, error) {
	prepared, err := storage.PrepareKey(s.prefix, key, recursive)
	if err != nil {
		return "", err
	}
	return strings.TrimPrefix(prepared, s.prefix), nil
}

// atLeast returns the state that a resourceVersion of a request asks for: the newest that there is if it is empty, any if it is 0, and else
// one that is not older.
func (s *store) atLeast(ctx context.Context, resourceVersion string) (read, error) {
	if resourceVersion == "" {
		return s.consistent(ctx)
	}
	rv, err := s.parse(resourceVersion)
	if err != nil {
		return read{}, err
	}
	if err := s.reach(ctx, rv); err != nil {
		return read{}, err
	}
	return s.log.latest()
}

// consistent returns a state that has everything that was written before the call.
func (s *store) consistent(ctx context.Context) (read, error) {
	// Whether the view is served is asked first, since it is a better answer than that etcd cannot be reached.
	if err := s.log.Ready(); err != nil {
		return read{}, err
	}
	if _, err := s.Barrier(ctx); err != nil {
		return read{}, err
	}
	return s.log.latest()
}

// reach waits for a resourceVersion that may be still to come, for a short time.
func (s *store) reach(ctx context.Context, rv uint64) error {
	short, cancel := context.WithTimeout(ctx, freshWithin)
	defer cancel()
	processed, err := s.log.waitFor(short, rv)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return givenUp(ctx)
	case errors.Is(err, context.DeadlineExceeded):
		return storage.NewTooLargeResourceVersionError(rv, processed, 1)
	default:
		return err
	}
}

func (s *store) parse(resourceVersion string) (uint64, error) {
	rv, err := s.versioner.ParseResourceVersion(resourceVersion)
	if err != nil {
		return 0, apierrors.NewBadRequest("invalid resource version: " + err.Error())
	}
	return rv, nil
}
