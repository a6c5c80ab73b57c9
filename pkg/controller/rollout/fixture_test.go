package rollout_test

import (
	"context"
	"errors"
	"net"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/binnacle-dev/binnacle/pkg/controller/rollout"
	"github.com/binnacle-dev/binnacle/pkg/embeddedetcd"
)

const prefix = "/registry/binnacle/"

// hub is one etcd, and what its replicas tick.
type hub struct {
	*testing.T
	endpoint string
	client   *clientv3.Client
	rollouts *rollouts
}

func newHub(t *testing.T) *hub {
	t.Helper()
	server, err := embeddedetcd.Start(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	h := &hub{T: t, endpoint: server.Endpoint(), rollouts: &rollouts{ticking: map[types.NamespacedName]string{}, lists: map[string]int{}}}
	h.client = h.connect(nil)
	return h
}

// connect returns a client of etcd, whose connections wait while the gate is closed.
func (h *hub) connect(g *gate) *clientv3.Client {
	h.Helper()
	config := clientv3.Config{Endpoints: []string{h.endpoint}, DialTimeout: 10 * time.Second, Logger: zap.NewNop()}
	if g != nil {
		config.DialOptions = []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, "unix", strings.TrimPrefix(strings.TrimPrefix(address, "unix:"), "//"))
			return gatedConn{conn, g}, err
		})}
	}
	client, err := clientv3.New(config)
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = client.Close() })
	return client
}

// gate lets nothing through while it is closed, as a network that is cut; and to its process, that it stands still looks the same.
type gate struct{ closed sync.RWMutex }

type gatedConn struct {
	net.Conn
	gate *gate
}

func (c gatedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.gate.closed.RLock()
	defer c.gate.closed.RUnlock()
	return n, err
}

func (c gatedConn) Write(p []byte) (int, error) {
	c.gate.closed.RLock()
	defer c.gate.closed.RUnlock()
	return c.Conn.Write(p)
}

// replica is a loop that runs.
type replica struct {
	*rollout.Loop
	*gate
	name string
	stop func()
}

// start starts a replica. Without a clock it has the machine's.
func (h *hub) start(name string, wall *clocktesting.FakeClock) *replica {
	h.Helper()
	r := &replica{gate: &gate{}, name: name}
	config := rollout.Config{Client: h.connect(r.gate), Prefix: prefix, Identity: name, Workers: 2, Clock: clock.RealClock{},
		Rollouts: &view{rollouts: h.rollouts, replica: name}}
	if wall != nil {
		config.Clock = wall
	}
	r.Loop = rollout.New(config)
	ctx, cancel := context.WithCancel(h.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	r.stop = sync.OnceFunc(func() { cancel(); <-done })
	h.Cleanup(r.stop)
	return r
}

// holder is the key of the lease that came first, and who it is.
func (h *hub) holder() (key string, lease clientv3.LeaseID, identity string) {
	h.Helper()
	response, err := h.client.Get(h.Context(), prefix+"leases/rollouts/", clientv3.WithFirstCreate()...)
	if err != nil {
		h.Fatal(err)
	}
	if len(response.Kvs) == 0 {
		return "", 0, ""
	}
	kv := response.Kvs[0]
	return path.Base(string(kv.Key)), clientv3.LeaseID(kv.Lease), string(kv.Value)
}

func (h *hub) holds(name string) func() bool {
	return func() bool { _, _, identity := h.holder(); return identity == name }
}

func (h *hub) revision() int64 {
	h.Helper()
	response, err := h.client.Get(h.Context(), "nothing")
	if err != nil {
		h.Fatal(err)
	}
	return response.Header.Revision
}

func (h *hub) eventually(what string, met func() bool) {
	h.Helper()
	h.within(30*time.Second, what, met)
}

func (h *hub) within(d time.Duration, what string, met func() bool) {
	h.Helper()
	for deadline := time.Now().Add(d); !met(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			h.Fatalf("gave up waiting for %s", what)
		}
	}
}

// tick is one that took place.
type tick struct {
	replica, name string
	at            time.Time
}

// rollouts are what there is, as all replicas see it.
type rollouts struct {
	mu sync.Mutex
	// unfinished is what List says.
	unfinished []string
	// next and fails are what a Tick says, by name.
	next  func(name string) time.Time
	fails func(replica, name string) error
	// slow is waited for in each tick.
	slow time.Duration
	done []tick
	// lists are how often each replica asked what is unfinished: once at its start, and then as the holder.
	lists map[string]int
	// ticking is which replica is at a rollout, and overlaps how often two were.
	ticking  map[types.NamespacedName]string
	overlaps atomic.Int32
	clock    clock.PassiveClock
}

var errNotYet = errors.New("not yet")

func (r *rollouts) set(change func(*rollouts)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(r)
}

// listed says whether a replica asked so often what is unfinished.
func (r *rollouts) listed(replica string, times int) func() bool {
	return func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.lists[replica] >= times
	}
}

// count is how often a replica ticked a rollout; an empty name is all.
func (r *rollouts) count(replica, name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, t := range r.done {
		if (replica == "" || t.replica == replica) && (name == "" || t.name == name) {
			n++
		}
	}
	return n
}

// view is rollouts as one replica calls it.
type view struct {
	*rollouts
	replica string
}

// List implements rollout.Rollouts.
func (v *view) List(context.Context) ([]types.NamespacedName, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.lists[v.replica]++
	var found []types.NamespacedName
	for _, name := range v.unfinished {
		found = append(found, types.NamespacedName{Namespace: "fleet", Name: name})
	}
	return found, nil
}

// Tick implements rollout.Rollouts.
func (v *view) Tick(ctx context.Context, namespace, name string) (time.Time, error) {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	v.mu.Lock()
	if at := v.ticking[key]; at != "" && at != v.replica {
		v.overlaps.Add(1)
	}
	v.ticking[key] = v.replica
	slow := v.slow
	v.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-time.After(slow):
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.ticking, key)
	if ctx.Err() != nil {
		return time.Time{}, ctx.Err()
	}
	now := time.Now()
	if v.clock != nil {
		now = v.clock.Now()
	}
	v.done = append(v.done, tick{v.replica, name, now})
	if v.fails != nil {
		if err := v.fails(v.replica, name); err != nil {
			return time.Time{}, err
		}
	}
	if v.next == nil {
		return time.Time{}, nil
	}
	return v.next(name), nil
}
