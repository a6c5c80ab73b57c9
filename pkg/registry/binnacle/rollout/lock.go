package rollout

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/klog/v2"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/clusterstatus/viewlog"
)

const (
	// lockTTL is after how many seconds the lock of a replica that died is free.
	lockTTL = 5
	// lockPatience is how long a request waits for others that want the same output.
	lockPatience = 10 * time.Second
)

// locks lets one request at a time, on all replicas, make a Rollout unfinished under an output decision key. Who holds a lock looks at what
// is stored, so that nothing but the Rollouts themselves says who has a key, and a replica that dies leaves nothing behind.
//
// The swap of a Rollout cannot compare the lock as well, so it is confirmed right before: two Rollouts could only get one key where a process
// stands still for more than lockTTL between confirm and the swap after it, or anywhere in the creation of a Rollout, which publishes nothing.
type locks struct {
	client *clientv3.Client
	prefix string
}

// lock is one that is held, until it is given back or its lease ends.
type lock struct {
	client  *clientv3.Client
	session *concurrency.Session
	mutex   *concurrency.Mutex
	key     string
}

// keyOf is where the lock of a decision key lies. Nobody has looked at the key yet: hashed, it cannot lead anywhere else.
func (l locks) keyOf(namespace, key string) string {
	sum := sha256.Sum256([]byte(namespace + "\x00" + key))
	return path.Join(l.prefix, hex.EncodeToString(sum[:]))
}

// lock waits for the lock of a decision key. Its error is an answer.
func (l locks) lock(ctx context.Context, namespace, key string) (*lock, error) {
	waiting, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	lease, err := l.client.Grant(waiting, lockTTL)
	if err != nil {
		return nil, busy(key, err)
	}
	// The session outlives the request, which may be over before its lock is given back.
	session, err := concurrency.NewSession(l.client, concurrency.WithLease(lease.ID))
	if err != nil {
		return nil, busy(key, err)
	}
	held := &lock{l.client, session, concurrency.NewMutex(session, l.keyOf(namespace, key)), key}
	if err := held.mutex.Lock(waiting); err != nil {
		held.unlock()
		return nil, busy(key, err)
	}
	return held, nil
}

// unlock gives the lock back.
func (l *lock) unlock() {
	if err := l.session.Close(); err != nil {
		klog.Background().V(2).Info("A lock was not given back and ends by itself", "decisionKey", l.key, "reason", err)
	}
}

var errLockLost = errors.New("the lock was lost meanwhile")

// confirm returns an error, which is an answer, unless the lock is held, as etcd has it now. What the session knows may be old after the
// process was stopped.
func (l *lock) confirm(ctx context.Context) error {
	response, err := l.client.Txn(ctx).If(l.mutex.IsOwner()).Commit()
	if err == nil && !response.Succeeded {
		err = errLockLost
	}
	if err != nil {
		return busy(l.key, err)
	}
	return nil
}

// busy is 503 with the time after which to try again.
func busy(key string, err error) error {
	return viewlog.Unavailable(fmt.Sprintf("cannot make sure that the output decision key %q is free: %v", key, err))
}

// claim locks an output decision key for a Rollout, and refuses it where another has it.
func (m *Mover) claim(ctx context.Context, namespace, name, key string, publishes bool) (*lock, error) {
	held, err := m.locks.lock(ctx, namespace, key)
	if err != nil {
		return nil, err
	}
	if err := m.refuseTaken(ctx, name, key, publishes); err != nil {
		held.unlock()
		return nil, err
	}
	return held, nil
}

// refuseTaken is 409 where another Rollout of the namespace has an output decision key. One that is not finished has it. One that is finished
// and still publishes lets others be created beside it, so that they can be prepared, but not publish: readers would take the slices of both
// for one decision.
func (m *Mover) refuseTaken(ctx context.Context, name, key string, publishes bool) error {
	list, err := m.rollouts.List(ctx, &metainternalversion.ListOptions{FieldSelector: fields.OneTermEqualSelector(binnacle.SelectorDecisionKey, key)})
	if err != nil {
		return err
	}
	for i := range list.(*binnacle.RolloutList).Items {
		if other := &list.(*binnacle.RolloutList).Items[i]; other.Name != name {
			if why := holds(other, publishes); why != "" {
				return conflict(name, "KeyTaken", fmt.Sprintf("the output decision key %q belongs to Rollout %s, which %s", key, other.Name, why))
			}
		}
	}
	return nil
}

// holds says why a Rollout keeps others from its output decision key, and what to do about it; nothing where it does not.
func holds(other *binnacle.Rollout, publishes bool) string {
	switch phase := other.Status.Phase; {
	case phase.Finished() && !publishes, phase.Finished() && phase != binnacle.RolloutCompleted && other.Status.Revision == 0:
		return ""
	case other.DeletionTimestamp != nil:
		return "is being deleted, and its decision with it: try again when it is gone"
	case !phase.Finished():
		return fmt.Sprintf("is not finished (%s): finish, abort or delete it first", phase)
	case other.Status.Revision == 0: // Whom it holds comes in once it reports again.
		return fmt.Sprintf("is %s and lets in clusters that it keeps back: delete it first", phase)
	case phase == binnacle.RolloutCompleted:
		return fmt.Sprintf("is %s and publishes its decision: advance that one with a changed spec, or delete it, and with it its decision", phase)
	default:
		return fmt.Sprintf("is %s and publishes its decision: retry that one, with a changed spec if need be, or delete it, and with it its decision", phase)
	}
}
