package integration

import (
	"fmt"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// ownHub is a hub for one test, which may stop what is on it: replicas of ours behind a balancer, with one etcd that is not the hub's.
type ownHub struct {
	*framework.Hub
	replicas []*framework.Server
	etcd     *framework.Etcd
	stored   *clientv3.Client
}

func startOwnHub(t *testing.T, replicas int, flags ...string) ownHub {
	t.Helper()
	started, err := framework.StartHub(t.Context(), framework.HubOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = started.Stop() })
	if err := started.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	own := ownHub{Hub: started}
	own.etcd, own.stored = externalEtcd(t)
	balancer, err := framework.NewBalancer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = balancer.Close() })
	var ports []int
	for i := range replicas {
		s := own.replica(t, fmt.Sprint("replica-", i), flags...)
		own.replicas, ports = append(own.replicas, s), append(ports, s.Port)
	}
	balancer.SetBackends(ports...)
	if err := own.Register(t.Context(), balancer.Port); err != nil {
		t.Fatal(err)
	}
	return own
}

// replica starts a server of ours that the hub does not know of.
func (own ownHub) replica(t *testing.T, name string, flags ...string) *framework.Server {
	t.Helper()
	s, err := own.StartReplica(t.Context(), framework.ServerOptions{Name: name, Etcd: own.etcd, Flags: flags})
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
