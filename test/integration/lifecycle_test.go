package integration

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// startStandalone starts a server without a hub.
func startStandalone(t *testing.T, o framework.ServerOptions) *framework.Server {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	s, err := framework.StartStandalone(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	return s
}

func adminOf(t *testing.T, s *framework.Server) *rest.Config {
	t.Helper()
	config, err := s.AdminConfig()
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// standaloneCaller talks to a standalone server as its administrator.
func standaloneCaller(t *testing.T, s *framework.Server) caller {
	t.Helper()
	return newCaller(t, adminOf(t, s), ours, "any-namespace", "v1alpha2")
}

// TestStandaloneLifecycle starts, restarts and stops a server without a hub.
func TestStandaloneLifecycle(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	started := time.Now()
	s := startStandalone(t, framework.ServerOptions{Dir: dir, DataDir: data})
	t.Logf("ready %s after the process was started", time.Since(started).Round(time.Millisecond))
	c := standaloneCaller(t, s)
	created := c.must(post("clusterprofiles", profileNamed("a", managed)))
	c.must(patchStatus("a", `{"version":{"kubernetes":"v1.37.2"}}`))
	kubeconfig, err := os.ReadFile(filepath.Join(data, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}

	t.Run("a second process on the data is refused in a sentence", func(t *testing.T) {
		out, err := exec.CommandContext(t.Context(), binary(t), "--standalone", "--data-dir="+data, "--bind-address=127.0.0.1", fmt.Sprint("--secure-port=", freePort(t))).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || !strings.Contains(string(out), "belongs to another binnacle-apiserver that is running") || strings.Contains(string(out), "goroutine") {
			t.Errorf("%v: %s", err, out)
		}
		c.must(get("clusterprofiles/a"))
	})

	t.Run("only the administrator, and anybody for health", func(t *testing.T) {
		for _, path := range []string{"/apis", "/version", "/metrics", "/openapi/v3", "/apis/" + ours + "/v1alpha2/clusterprofiles", "/readyz/etcd"} {
			if code := anonymous(t, s, path); code != http.StatusUnauthorized && code != http.StatusForbidden {
				t.Errorf("%s without an identity: %d", path, code)
			}
		}
		for _, path := range []string{"/healthz", "/livez", "/readyz"} {
			if code := anonymous(t, s, path); code != http.StatusOK {
				t.Errorf("%s: %d", path, code)
			}
		}
	})

	t.Run("stop with open watches takes less than 5 s", func(t *testing.T) {
		stopWithWatches(t, s, openWatches(t, c, 50))
	})

	t.Run("a restart keeps data, certificates and port", func(t *testing.T) {
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		again := c.must(get("clusterprofiles/a"))
		if again.field("metadata", "uid") != created.field("metadata", "uid") || again.field("status", "version", "kubernetes") != "v1.37.2" {
			t.Errorf("after the restart: %s", again.raw)
		}
		after, err := os.ReadFile(filepath.Join(data, "kubeconfig"))
		if err != nil || string(after) != string(kubeconfig) {
			t.Errorf("the kubeconfig has changed (%v)", err)
		}
	})

	t.Run("a watch from before the restart is told 410, a list ahead to retry", func(t *testing.T) {
		events, code := c.watch("resourceVersion="+fmt.Sprint(created.versionOf()), "clusterprofiles")
		if e := next(t, events); code != http.StatusOK || e.Type != "ERROR" || e.Object["code"] != float64(http.StatusGone) {
			t.Errorf("%d: %v", code, e)
		}
	})
}

// openWatches opens watches that have all got their first event.
func openWatches(t *testing.T, c caller, n int) []<-chan event {
	t.Helper()
	var all []<-chan event
	for range n {
		events, code := c.watch("", "clusterprofiles")
		if code != http.StatusOK {
			t.Fatal(code)
		}
		next(t, events)
		all = append(all, events)
	}
	return all
}

// TestKillLosesNothing kills the process, etcd inside it, at moments of its own choosing under load, and wants every acknowledged write
// back after the restart.
func TestKillLosesNothing(t *testing.T) {
	s := startStandalone(t, framework.ServerOptions{})
	for round := range 3 {
		acknowledged := writeUntilKilled(t, s, round)
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		c := standaloneCaller(t, s)
		list := c.must(get("placementdecisions?labelSelector=round%3D" + fmt.Sprint(round)))
		found := map[string]string{}
		for _, item := range list.field("items").([]any) {
			object := item.(map[string]any)
			found[object["metadata"].(map[string]any)["name"].(string)] = fmt.Sprint(object["schedulerName"])
		}
		lost := 0
		for name, scheduler := range acknowledged {
			if found[name] != scheduler {
				lost++
			}
		}
		t.Logf("round %d: %d acknowledged, %d found, %d lost", round, len(acknowledged), len(found), lost)
		if lost > 0 || len(acknowledged) == 0 {
			t.Errorf("round %d: %d of %d acknowledged writes are lost", round, lost, len(acknowledged))
		}
	}
}

// writeUntilKilled creates objects through several connections, kills the server in the middle, and returns the acknowledged ones.
func writeUntilKilled(t *testing.T, s *framework.Server, round int) map[string]string {
	t.Helper()
	acknowledged := map[string]string{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	enough := make(chan struct{})
	for writer := range 8 {
		client, err := rest.HTTPClientFor(adminOf(t, s))
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for i := 0; ; i++ {
				name := fmt.Sprintf("d-%d-%d-%d", round, writer, i)
				body := fmt.Sprintf(`{"apiVersion":"%s/v1alpha2","kind":"PlacementDecision","metadata":{"name":%q,"labels":{"round":"%d"}},"schedulerName":%q,"decisions":%s}`, ours, name, round, "s-"+name, decisionList(20))
				resp, err := client.Post(s.URL()+"/apis/"+ours+"/v1alpha2/namespaces/any-namespace/placementdecisions", jsonType, strings.NewReader(body))
				if err != nil {
					return
				}
				resp.Body.Close()
				if resp.StatusCode == http.StatusCreated {
					mu.Lock()
					acknowledged[name] = "s-" + name
					if len(acknowledged) == 300+100*round {
						close(enough)
					}
					mu.Unlock()
				}
			}
		})
	}
	select {
	case <-enough:
	case <-time.After(requestTimeout):
		t.Fatal("the server does not take 300 writes")
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	return acknowledged
}

// TestDamagedData wants one clear error for data that cannot be read, and for a disk that is full.
func TestDamagedData(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, data string){
		"database": func(t *testing.T, data string) { overwrite(t, filepath.Join(data, "etcd/data/member/snap/db")) },
		"log": func(t *testing.T, data string) {
			overwrite(t, only(t, filepath.Join(data, "etcd/data/member/wal/*.wal")))
		},
		"CA": func(t *testing.T, data string) { overwrite(t, filepath.Join(data, "pki/ca.key")) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			data := filepath.Join(dir, "data")
			s := startStandalone(t, framework.ServerOptions{Dir: dir, DataDir: data})
			standaloneCaller(t, s).must(post("clusterprofiles", profileNamed("a", managed)))
			if err := s.Stop(); err != nil {
				t.Fatal(err)
			}
			damage(t, data)
			oneClearError(t, data, nil)
		})
	}
	t.Run("no room", func(t *testing.T) {
		// A file may not grow past 1 MiB: etcd preallocates more than that.
		oneClearError(t, filepath.Join(t.TempDir(), "data"), []string{"sh", "-c", `ulimit -f 1024; exec "$0" "$@"`})
	})
	t.Run("a file where the folder belongs", func(t *testing.T) {
		data := filepath.Join(t.TempDir(), "data")
		if err := os.WriteFile(data, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		oneClearError(t, data, nil)
	})
}

// oneClearError runs a server that cannot start, and wants it to say so in an error that names the folder, without a stack.
func oneClearError(t *testing.T, data string, wrapper []string) {
	t.Helper()
	args := append(wrapper, binary(t), "--standalone", "--data-dir="+data, "--bind-address=127.0.0.1", fmt.Sprint("--secure-port=", freePort(t)))
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("exit: %v\n%s", err, out)
	}
	var complaints []string
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "E") || strings.Contains(line, "rror") {
			complaints = append(complaints, line)
		}
	}
	if text := string(out); strings.Contains(text, "goroutine ") || strings.Contains(text, "panic:") || len(complaints) != 1 || !strings.Contains(complaints[0], data) {
		t.Errorf("%d complaints:\n%s", len(complaints), shortenTo(text, 3000))
	}
}

func shortenTo(text string, n int) string {
	if len(text) > n {
		return text[:n] + "…"
	}
	return text
}

// overwrite spoils the middle of a file.
func overwrite(t *testing.T, path string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt([]byte(strings.Repeat("damaged ", 8192)), 0); err != nil {
		t.Fatal(err)
	}
}

func only(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("%s: %v, %v", pattern, found, err)
	}
	return found[0]
}

func binary(t *testing.T) string {
	t.Helper()
	root, err := framework.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "bin", "binnacle-apiserver")
}

func freePort(t *testing.T) int {
	t.Helper()
	port, err := framework.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// anonymous asks a server without an identity.
func anonymous(t *testing.T, s *framework.Server, path string) int {
	t.Helper()
	config := rest.AnonymousClientConfig(adminOf(t, s))
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Get(s.URL() + path)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// TestAggregatedStop stops a server of a hub with open watches, in less than 5 s.
func TestAggregatedStop(t *testing.T) {
	s, err := hub.StartReplica(t.Context(), framework.ServerOptions{Name: "stopped"})
	if err != nil {
		t.Fatal(err)
	}
	c := newCaller(t, s.ConfigFor("admin", framework.AdminGroup), ours, newNamespace(t), "v1alpha2")
	c.must(post("clusterprofiles", profileNamed("a", managed)))
	stopWithWatches(t, s, openWatches(t, c, 50))
}

// stopWithWatches stops a server, and wants it to end within 5 s and each watch with it.
func stopWithWatches(t *testing.T, s *framework.Server, watches []<-chan event) {
	t.Helper()
	stopping := time.Now()
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	took := time.Since(stopping)
	t.Logf("stopped in %s", took.Round(time.Millisecond))
	if took > 5*time.Second {
		t.Errorf("stopping took %s", took)
	}
	for _, events := range watches {
		for range events { // The server has ended each watch.
		}
	}
}
