package app

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned"
)

func empty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("%s holds %v, %v", dir, entries, err)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// serve runs a standalone server until stop is called, and returns a client of it once it is ready.
func serve(t *testing.T, dir string, args ...string) (client *versioned.Clientset, host string, stop func()) {
	t.Helper()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	o := complete(t, append(args, "--standalone", "--data-dir", dir, "--bind-address=127.0.0.1")...)
	if err := validate(t, o); err != nil {
		t.Fatal(err)
	}
	go func() { ended <- o.run(ctx) }()
	stop = func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the server ended with %v", err)
		}
	}
	deadline := time.After(60 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if config, err := clientcmd.BuildConfigFromFlags("", kubeconfig); err == nil {
			client = versioned.NewForConfigOrDie(config)
			if err := client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err == nil {
				return client, config.Host, stop
			}
		}
		select {
		case err := <-ended:
			t.Fatalf("the server ended with %v", err)
		case <-deadline:
			t.Fatal("the server is not ready")
		case <-tick.C:
		}
	}
}

// TestStandaloneServesAndRestarts follows one data directory through two starts.
func TestStandaloneServesAndRestarts(t *testing.T) {
	dir := t.TempDir()
	client, host, stop := serve(t, dir, "--secure-port="+freePort(t))
	profile := &v1alpha1.ClusterProfile{ObjectMeta: metav1.ObjectMeta{Name: "atlas"},
		Spec: v1alpha1.ClusterProfileSpec{ClusterManager: v1alpha1.ClusterManager{Name: ptr.To("fleet-manager")}}}
	created, err := client.MulticlusterV1alpha1().ClusterProfiles("any-name-at-all").Create(t.Context(), profile, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	second := complete(t, "--standalone", "--data-dir", dir, "--secure-port="+freePort(t)).run(t.Context())
	if second == nil || !strings.Contains(second.Error(), "the data directory "+dir+" belongs to another binnacle-apiserver that is running") {
		t.Errorf("a second server on the directory: %v", second)
	}
	stop()

	client, again, stop := serve(t, dir)
	defer stop()
	if again != host {
		t.Errorf("after the restart it serves %s, before %s", again, host)
	}
	read, err := client.MulticlusterV1alpha1().ClusterProfiles("any-name-at-all").Get(t.Context(), "atlas", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if read.UID != created.UID || read.ResourceVersion != created.ResourceVersion {
		t.Errorf("after the restart %s at %s, before %s at %s", read.UID, read.ResourceVersion, created.UID, created.ResourceVersion)
	}
}
