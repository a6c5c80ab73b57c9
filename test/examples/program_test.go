package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// start runs a program of examples/ as a user of the hub who has the ClusterRoles in a namespace, and returns how to end it, which happens
// after the test in any case.
func start(t *testing.T, namespace, program string, roles []string, args ...string) (stop func()) {
	t.Helper()
	user := program + "-" + namespace
	for _, role := range roles {
		kubectl(t, "create", "rolebinding", user+"-"+role, "-n", namespace, "--clusterrole="+role, "--user="+user)
	}
	kubeconfig, err := hub.Kubeconfig(user)
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), program+".log"))
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(filepath.Join(bin, program), args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- command.Wait() }()
	ended := false
	stop = func() {
		if ended {
			return
		}
		ended = true
		_ = command.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-exited:
			if err != nil {
				t.Errorf("%s: %v", program, err)
			}
		case <-time.After(patience):
			t.Errorf("%s does not end when it is told to", program)
			_ = command.Process.Kill()
		}
		_ = log.Close()
		if text, err := os.ReadFile(log.Name()); err == nil && (t.Failed() || testing.Verbose()) {
			t.Logf("the log of %s:\n%s", program, text[max(0, len(text)-4000):])
		}
	}
	t.Cleanup(stop)
	return stop
}

// kubectl runs kubectl as the hub's administrator.
func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	stdout, _, err := admin.Run(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return stdout
}
