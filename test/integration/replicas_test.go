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

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// replicated is a hub of one test's own with two replicas of the server on one etcd, behind one address.
type replicated struct {
	*framework.Hub
	// etcd holds the objects of both replicas.
	etcd *framework.Etcd
	// toEtcd is between the replicas and etcd.
	toEtcd   *framework.Balancer
	replicas []*framework.Server
	// balancer is the address under which the hub reaches the replicas.
	balancer *framework.Balancer
}

// newReplicated starts a hub and two replicas, with flags. What has to do with whom the hub trusts, or with what is down, needs a hub of
// its own.
func newReplicated(t *testing.T, o framework.HubOptions, flags ...string) *replicated {
	t.Helper()
	ctx := t.Context()
	o.Dir = t.TempDir()
	own, err := framework.StartHub(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	r := &replicated{Hub: own}
	t.Cleanup(func() { _ = own.Stop() })
	if r.etcd, err = framework.StartEtcd(ctx, framework.EtcdOptions{Dir: t.TempDir(), Name: "store"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.etcd.Stop() })
	store, err := url.Parse(r.etcd.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(store.Port())
	if err != nil {
		t.Fatal(err)
	}
	if r.toEtcd, err = framework.NewBalancer(port); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.toEtcd.Close() })
	through := *r.etcd
	through.URL = fmt.Sprint("https://127.0.0.1:", r.toEtcd.Port)
	if err := own.Install(ctx); err != nil {
		t.Fatal(err)
	}
	var ports []int
	for i := range 2 {
		replica, err := own.StartReplica(ctx, framework.ServerOptions{Name: fmt.Sprint("replica-", i), Etcd: &through, Flags: flags})
		if err != nil {
			t.Fatal(err)
		}
		r.replicas = append(r.replicas, replica)
		ports = append(ports, replica.Port)
	}
	if r.balancer, err = framework.NewBalancer(ports...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.balancer.Close() })
	if err := own.Register(ctx, r.balancer.Port); err != nil {
		t.Fatal(err)
	}
	return r
}

// namespaces makes n namespaces on the hub.
func (r *replicated) namespaces(t *testing.T, n int) []string {
	t.Helper()
	var names []string
	for i := range n {
		name := fmt.Sprint("fleet-", i)
		if _, err := kubernetes.NewForConfigOrDie(r.AdminConfig()).CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// keepEndpoints does for the balancer what kubelet and the endpoint controller do for a Service: a replica that is not ready gets no new
// connections. It looks every half second until the returned function is called.
func (r *replicated) keepEndpoints(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	clients := make([]*http.Client, len(r.replicas))
	for i, replica := range r.replicas {
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
		for i, replica := range r.replicas {
			resp, err := clients[i].Get(replica.URL() + "/readyz")
			if err != nil {
				continue
			}
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				ready = append(ready, replica.Port)
			}
		}
		r.balancer.SetBackends(ready...)
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
