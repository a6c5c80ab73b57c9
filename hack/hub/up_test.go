// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// TestTakenPort wants a port that is taken to be found before anything is started, and before what runs of the hub is stopped.
func TestTakenPort(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	taken := listener.Addr().(*net.TCPAddr).Port
	for name, o := range map[string]options{
		"of the hub":    {hubPort: taken},
		"of the server": {serverPort: taken},
	} {
		t.Run(name, func(t *testing.T) {
			o.dir = t.TempDir()
			running := startRecorded(t, o.dir, "etcd")
			o.binary = os.Args[0]
			err := up(t.Context(), o)
			if err == nil || !strings.Contains(err.Error(), "port "+strconv.Itoa(taken)) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v", err)
			}
			if !running.Running() {
				t.Error("what ran was stopped")
			}
		})
	}
	t.Run("by the hub itself", func(t *testing.T) {
		o := options{dir: t.TempDir(), hubPort: taken}
		ours := startRecorded(t, o.dir, "kube-apiserver", "--secure-port="+strconv.Itoa(taken))
		if err := checkPorts(o, []framework.Record{ours}); err != nil {
			t.Error(err)
		}
	})
	t.Run("twice the same", func(t *testing.T) {
		if err := checkPorts(options{hubPort: 26443, serverPort: 26443}, nil); err == nil {
			t.Error("accepted")
		}
	})
}

// startRecorded starts a process that does nothing, and records it as one of the hub in dir.
func startRecorded(t *testing.T, dir, name string, args ...string) framework.Record {
	t.Helper()
	// What follows the script are its parameters.
	argv := append([]string{"/bin/sh", "-c", "read -r line", "sh"}, args...)
	cmd := exec.Command(argv[0], argv[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	record := framework.Record{Name: name, PID: cmd.Process.Pid, Argv: argv, Started: time.Now()}
	// The kernel shows its command line a moment after it was started.
	if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) { return record.Running(), nil }); err != nil {
		t.Fatalf("%s does not run: %v", name, err)
	}
	data, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "run"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "run", name+".json"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	return record
}
