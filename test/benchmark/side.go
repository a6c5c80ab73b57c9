package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/binnacle-dev/binnacle/test/framework"
)

const namespace = "bench"

// side is what is compared.
type side struct {
	name, group string
	// serve puts the kinds on a hub.
	serve func(context.Context, *bench) error
}

var (
	customResources = side{"crd", "twin.binnacle.dev", serveCustomResources}
	binnacle        = side{"binnacle", "multicluster.x-k8s.io", serveBinnacle}
)

// bench is one hub with one side on it.
type bench struct {
	side
	options
	hub *framework.Hub
	// server is Binnacle's, nil on the other side.
	server *framework.Server
	// store holds the objects: the hub's etcd, or Binnacle's.
	store *framework.Etcd
}

// ways are how clients reach the side: through the hub, and Binnacle directly as well.
func (b *bench) ways() map[string]*rest.Config {
	ways := map[string]*rest.Config{b.side.name: b.hub.AdminConfig()}
	if b.server != nil {
		ways[b.side.name+" direct"] = b.server.ConfigFor("admin", framework.AdminGroup)
	}
	return ways
}

// processes are those whose work counts, by name.
func (b *bench) processes() map[string]*framework.Process {
	all := map[string]*framework.Process{"kube-apiserver": b.hub.APIServer, "etcd": b.hub.Etcd.Process}
	if b.server != nil {
		all["binnacle-apiserver"], all["binnacle etcd"] = b.server.Process, b.store.Process
	}
	return all
}

func (s side) measure(ctx context.Context, o options) ([]figures, error) {
	dir, err := os.MkdirTemp("", "binnacle-benchmark-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	b, stop, err := s.start(ctx, o, dir)
	if err != nil {
		return nil, err
	}
	defer stop()
	return b.run(ctx)
}

// start puts one side on a hub.
func (s side) start(ctx context.Context, o options, dir string) (*bench, func(), error) {
	hub, err := framework.StartHub(ctx, framework.HubOptions{Dir: filepath.Join(dir, s.name)})
	if err != nil {
		return nil, nil, err
	}
	b := &bench{side: s, options: o, hub: hub}
	stop := func() {
		_ = hub.Stop()
		if b.server != nil {
			_ = b.store.Stop()
		}
	}
	if err := s.serve(ctx, b); err != nil {
		stop()
		return nil, nil, err
	}
	if err := b.makeNamespace(ctx); err != nil {
		stop()
		return nil, nil, err
	}
	return b, stop, nil
}

func (b *bench) makeNamespace(ctx context.Context) error {
	_, err := kubernetes.NewForConfigOrDie(b.hub.AdminConfig()).CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	return err
}

func serveCustomResources(ctx context.Context, b *bench) error {
	root, err := framework.ModuleRoot()
	if err != nil {
		return err
	}
	crds := filepath.Join(root, "test", "integration", "testdata", "crds")
	for _, args := range [][]string{{"apply", "-f", crds}, {"wait", "--for=condition=Established", "--timeout=30s", "-f", crds}} {
		if _, _, err := b.hub.Kubectl(ctx, args...); err != nil {
			return err
		}
	}
	b.store = b.hub.Etcd
	return nil
}

// serveBinnacle gives Binnacle an etcd outside of its process, with the settings of the hub's, so that the work of each is seen. It serves
// HTTP/1.1, as the workloads in artifacts do.
func serveBinnacle(ctx context.Context, b *bench) (err error) {
	if b.store, err = framework.StartEtcd(ctx, framework.EtcdOptions{Dir: filepath.Join(b.hub.Dir(), "store"), Name: "store"}); err != nil {
		return err
	}
	if b.server, err = b.hub.StartBinnacle(ctx, framework.ServerOptions{Etcd: b.store, Flags: []string{"--disable-http2-serving"}}); err != nil {
		return fmt.Errorf("%w (stopping: %v)", err, b.store.Stop())
	}
	return nil
}
