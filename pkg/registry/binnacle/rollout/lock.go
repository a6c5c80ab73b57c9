package rollout

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	lockTTL = 15
	// lockPatience is how long a request waits for others that want the same output.
	lockPatience = 10 * time.Second
)

// locks lets one request at a time, on all replicas, make a Rollout unfinished under an output decision key. Who holds a lock looks at what
// is stored, so that nothing but the Rollouts themselves says who has a key, and a replica that dies leaves nothing behind.
type locks struct {
	client *clientv3.Client
	prefix string
}

// keyOf is where the lock of a decision key lies. Nobody has looked at the key yet: hashed, it cannot lead anywhere else.
func (l locks) keyOf(namespace, key string) string {
	sum := sha256.Sum256([]byte(namespace + "\x00" + key))
	return path.Join(l.prefix, hex.EncodeToString(sum[:]))
}

// lock waits for the lock of a decision key. Its error is an answer.
func (l locks) lock(ctx context.Context, namespace, key string) (unlock func(), err error) {
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
	unlock = func() {
		if err := session.Close(); err != nil {
			klog.FromContext(ctx).V(2).Info("A lock was not given back and ends by itself", "decisionKey", key, "reason", err)
		}
	}
	if err := concurrency.NewMutex(session, l.keyOf(namespace, key)).Lock(waiting); err != nil {
		unlock()
		return nil, busy(key, err)
	}
	return unlock, nil
}

// busy is 503 with the time after which to try again.
func busy(key string, err error) error {
	return viewlog.Unavailable(fmt.Sprintf("cannot make sure that the output decision key %q is free: %v", key, err))
}

// claim locks an output decision key for a Rollout, and refuses it where another that is not finished has it.
func (m *Mover) claim(ctx context.Context, namespace, name, key string) (unlock func(), err error) {
	unlock, err = m.locks.lock(ctx, namespace, key)
	if err != nil {
		return nil, err
	}
	if err := m.refuseTaken(ctx, name, key); err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

// refuseTaken is 409 where another Rollout of the namespace has an output decision key and is not finished.
func (m *Mover) refuseTaken(ctx context.Context, name, key string) error {
	list, err := m.rollouts.List(ctx, &metainternalversion.ListOptions{FieldSelector: fields.OneTermEqualSelector(binnacle.SelectorDecisionKey, key)})
	if err != nil {
		return err
	}
	for i := range list.(*binnacle.RolloutList).Items {
		other := &list.(*binnacle.RolloutList).Items[i]
		if other.Name != name && !other.Status.Phase.Finished() {
			return conflict(name, "KeyTaken", fmt.Sprintf("the output decision key %q belongs to Rollout %s, which is not finished (%s): finish, abort or delete it first",
				key, other.Name, other.Status.Phase))
		}
	}
	return nil
}
