package embeddedetcd

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// childDir makes the test binary start a member on the directory that it holds, and say how that went.
const childDir = "BINNACLE_TEST_ETCD_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		server, err := Start(context.Background(), dir)
		if err != nil {
			fmt.Println("refused:", err)
			os.Exit(0)
		}
		fmt.Println("serves")
		server.Stop()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// startInChild starts a member in a process of its own: a panic or an exit that etcd meets damaged data with would end this one.
func startInChild(t *testing.T, dir string) (stdout, stderr string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	return strings.TrimSpace(out.String()), errOut.String(), err
}

// only returns the one file of a folder that matches a pattern.
func only(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	return found[0]
}

func rewrite(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

func garble(from, to int) func([]byte) []byte {
	return func(data []byte) []byte {
		for i := from; i < min(to, len(data)); i++ {
			data[i] ^= 0xa5
		}
		return data
	}
}

func truncate(to int) func([]byte) []byte {
	return func(data []byte) []byte { return data[:min(to, len(data))] }
}

// TestDamagedData damages each file of a member in turn. Whatever etcd makes of it, the answer is one sentence that names the directory.
func TestDamagedData(t *testing.T) {
	const wal, db = "data/member/wal/*.wal", "data/member/snap/db"
	tests := []struct {
		name, file string
		change     func([]byte) []byte
	}{
		{"log emptied", wal, truncate(0)},
		{"log cut in its first record", wal, truncate(10)},
		{"first record of the log garbled", wal, garble(0, 64)},
		{"checksums of the log garbled", wal, garble(100, 400)},
		{"database cut in its header", db, truncate(100)},
		{"database cut after its header", db, truncate(9000)},
		{"header of the database garbled", db, garble(0, 8192)},
		{"pages of the database garbled", db, garble(8192, 1<<20)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			server := start(t, dir)
			for i := range 50 {
				put(t, server, fmt.Sprintf("/key-%d", i), strings.Repeat("x", 1000))
			}
			server.Stop()
			rewrite(t, only(t, filepath.Join(dir, test.file)), test.change)

			out, errOut, err := startInChild(t, dir)
			if err != nil {
				t.Fatalf("the process ended with %v\n%s\n%s", err, out, errOut)
			}
			if !strings.HasPrefix(out, "refused: embedded etcd in "+dir+": ") || strings.Contains(out, "\n") {
				t.Errorf("the answer is %q, want one line that names %s", out, dir)
			}
			if strings.Contains(errOut, "goroutine ") {
				t.Errorf("a panic reached the user:\n%s", errOut)
			}
		})
	}
}

// TestLostLog refuses a database whose log is gone: etcd would start, and lose what is written.
func TestLostLog(t *testing.T) {
	dir := t.TempDir()
	server := start(t, dir)
	put(t, server, "/key", "value")
	server.Stop()
	if err := os.RemoveAll(filepath.Join(dir, "data", "member", "wal")); err != nil {
		t.Fatal(err)
	}
	out, _, err := startInChild(t, dir)
	if err != nil || !strings.HasPrefix(out, "refused: embedded etcd in "+dir+": ") || !strings.Contains(out, "there is no log in") {
		t.Errorf("%v, %q", err, out)
	}
}
