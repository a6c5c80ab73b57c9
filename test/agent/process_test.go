package agent

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// process is a running agent.
type process struct {
	cmd   *exec.Cmd
	log   *logBuffer
	ended chan error
}

// logBuffer keeps what a process writes.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// binary is what make build builds.
func binary(t *testing.T) string {
	t.Helper()
	root, err := framework.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "bin", "binnacle-agent")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("make build, then run this again: %v", err)
	}
	return path
}

// startAgent runs the agent between the member and a stand-in, without an address for probes unless flags say otherwise.
func startAgent(t *testing.T, s *standIn, flags ...string) *process {
	t.Helper()
	return startProcess(t, append([]string{
		"--kubeconfig=" + memberKubeconfig, "--hub-kubeconfig=" + s.kubeconfig, "--cluster-namespace=fleet", "--cluster-name=c1", "--health-bind-address=", "--v=2",
	}, flags...))
}

func startProcess(t *testing.T, args []string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(binary(t), args...), log: &logBuffer{}, ended: make(chan error, 1)}
	p.cmd.Env = []string{}
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.ended <- p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		<-p.ended
		if t.Failed() {
			lines := strings.Split(p.log.String(), "\n")
			t.Logf("the end of the agent's log:\n%s", strings.Join(lines[max(0, len(lines)-30):], "\n"))
		}
		if strings.Contains(p.log.String(), "panic:") {
			t.Errorf("the agent's log:\n%s", p.log)
		}
	})
	return p
}

// answerTo returns the status of an answer.
func answerTo(t *testing.T, config *rest.Config, request *http.Request) int {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}
