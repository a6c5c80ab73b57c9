package integration

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// ownHub is a hub for one test, which may stop what is on it: replicas of ours behind a balancer, with one etcd that is not the hub's.
type ownHub struct {
	*framework.Hub
	replicas []*framework.Server
	// balancer is the address under which the hub reaches the replicas.
	balancer *framework.Balancer
	etcd     *framework.Etcd
	stored   *clientv3.Client
	// toEtcd is between the replicas and etcd.
	toEtcd *framework.Balancer
}

// startOwnHub starts a hub, and replicas on it with flags.
func startOwnHub(t *testing.T, o framework.HubOptions, replicas int, flags ...string) ownHub {
	t.Helper()
	o.Dir = t.TempDir()
	started, err := framework.StartHub(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = started.Stop() })
	if err := started.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	own := ownHub{Hub: started}
	own.etcd, own.stored = externalEtcd(t)
	own.toEtcd, own.balancer = newBalancer(t, portOf(t, own.etcd.URL)), newBalancer(t)
	var ports []int
	for i := range replicas {
		s := own.replica(t, fmt.Sprint("replica-", i), flags...)
		own.replicas, ports = append(own.replicas, s), append(ports, s.Port)
	}
	own.balancer.SetBackends(ports...)
	if err := own.Register(t.Context(), own.balancer.Port); err != nil {
		t.Fatal(err)
	}
	return own
}

// replica starts a server of ours that the hub does not know of.
func (own ownHub) replica(t *testing.T, name string, flags ...string) *framework.Server {
	t.Helper()
	through := *own.etcd
	through.URL = fmt.Sprint("https://127.0.0.1:", own.toEtcd.Port)
	s, err := own.StartReplica(t.Context(), framework.ServerOptions{Name: name, Etcd: &through, Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	// The hub stops it too, but after the etcd, and then a server ends late.
	t.Cleanup(func() { _ = s.Stop() })
	return s
}

// through is a caller of the hub, as its administrator.
func (own ownHub) through(t *testing.T, namespace string) caller {
	t.Helper()
	return newCaller(t, own.AdminConfig(), ours, namespace, "v1alpha2")
}

// past is a caller of one replica, as the hub's administrator.
func (own ownHub) past(t *testing.T, replica int, namespace string) caller {
	t.Helper()
	return newCaller(t, own.replicas[replica].ConfigFor("admin", framework.AdminGroup), ours, namespace, "v1alpha2")
}

func newBalancer(t *testing.T, ports ...int) *framework.Balancer {
	t.Helper()
	balancer, err := framework.NewBalancer(ports...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = balancer.Close() })
	return balancer
}

func portOf(t *testing.T, address string) int {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(parsed.Port())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// namespaces makes n namespaces on the hub.
func (own ownHub) namespaces(t *testing.T, n int) []string {
	t.Helper()
	var names []string
	for i := range n {
		name := fmt.Sprint("fleet-", i)
		if _, err := kubernetes.NewForConfigOrDie(own.AdminConfig()).CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// keepEndpoints does for the balancer what kubelet and the endpoint controller do for a Service: a replica that is not ready gets no new
// connections. It looks every half second until the returned function is called.
func (own ownHub) keepEndpoints(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	clients := make([]*http.Client, len(own.replicas))
	for i, replica := range own.replicas {
		config := rest.CopyConfig(replica.ConfigFor("probe", framework.AdminGroup))
		config.Timeout = time.Second
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		clients[i] = client
	}
	look := func() {
		var ready []int
		for i, replica := range own.replicas {
			resp, err := clients[i].Get(replica.URL() + "/readyz")
			if err != nil {
				continue
			}
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				ready = append(ready, replica.Port)
			}
		}
		own.balancer.SetBackends(ready...)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				look()
			}
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}
