package clusterstatus

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// names are the uids of the ClusterProfiles. Each report asks for one, and none waits while a revision is taken into the view.
type names struct {
	mu   sync.RWMutex
	uids map[string]types.UID
}

func (n *names) set(cluster string, uid types.UID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if uid == "" {
		delete(n.uids, cluster)
		return
	}
	n.uids[cluster] = uid
}

func (n *names) get(cluster string) (types.UID, bool) {
	if n == nil { // Nothing is loaded yet.
		return "", false
	}
	n.mu.RLock()
	defer n.mu.RUnlock()
	uid, ok := n.uids[cluster]
	return uid, ok
}
