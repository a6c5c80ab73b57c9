package agent

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"
)

// memberServer is an API server of which only the version can be asked, and not even that it is ready if it is not.
func memberServer(t *testing.T, version string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/readyz":
		case "/version":
			_, _ = w.Write([]byte(`{"gitVersion":"` + version + `"}`))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// TestKubeconfigOfTheMember replaces the kubeconfig by that of another API server, with something unreadable in between.
func TestKubeconfigOfTheMember(t *testing.T) {
	path := filepath.Join(t.TempDir(), "member")
	use := func(s *httptest.Server) {
		t.Helper()
		if err := clientcmd.WriteToFile(clientcmdapi.Config{
			Clusters:       map[string]*clientcmdapi.Cluster{"member": {Server: s.URL}},
			Contexts:       map[string]*clientcmdapi.Context{"member": {Cluster: "member"}},
			CurrentContext: "member",
		}, path); err != nil {
			t.Fatal(err)
		}
	}
	use(memberServer(t, "v1"))
	m, err := loadMember(path, "test-agent")
	if err != nil {
		t.Fatal(err)
	}
	m.look = 10 * time.Millisecond
	f := facts{newInventory(), &properties{}, newHealth()}
	ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), logr.Discard()))
	ended := make(chan error, 1)
	go func() { ended <- m.run(ctx, f) }()
	await := func(want string) {
		t.Helper()
		deadline := time.Now().Add(time.Minute)
		for {
			_, version := f.health.state()
			if version == want {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("version %q, want %q", version, want)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	await("v1")
	write(t, path, "half a f")
	use(memberServer(t, "v2"))
	await("v2")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if f.inventory.listed() {
		t.Error("an API server without nodes is none that has no nodes")
	}
	if _, err := loadMember(filepath.Join(t.TempDir(), "none"), ""); err == nil {
		t.Error("no error without a kubeconfig")
	}
}
