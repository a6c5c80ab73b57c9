package embeddedetcd

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

func start(t *testing.T, dir string) *Server {
	t.Helper()
	server, err := Start(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func client(t *testing.T, server *Server) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Endpoint()}, DialTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func put(t *testing.T, server *Server, key, value string) {
	t.Helper()
	if _, err := client(t, server).Put(t.Context(), key, value); err != nil {
		t.Fatal(err)
	}
}

func wantValue(t *testing.T, server *Server, key, want string) {
	t.Helper()
	got, err := client(t, server).Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Kvs) != 1 || string(got.Kvs[0].Value) != want {
		t.Errorf("%s is %v, want %q", key, got.Kvs, want)
	}
}

func TestRestartKeepsData(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "where", "missing")
	server := start(t, dir)
	put(t, server, "/a", "1")
	wantValue(t, server, "/a", "1")
	server.Stop()

	again := start(t, dir)
	defer again.Stop()
	wantValue(t, again, "/a", "1")
	put(t, again, "/a", "2")
	wantValue(t, again, "/a", "2")
}

func TestTwoDirectoriesAreTwoServers(t *testing.T) {
	one, two := start(t, t.TempDir()), start(t, t.TempDir())
	defer one.Stop()
	defer two.Stop()
	put(t, one, "/a", "one")
	put(t, two, "/a", "two")
	wantValue(t, one, "/a", "one")
	wantValue(t, two, "/a", "two")
}

func TestOneAtATime(t *testing.T) {
	dir := t.TempDir()
	server := start(t, dir)
	put(t, server, "/a", "1")
	_, err := Start(t.Context(), dir)
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("the second start: %v, want ErrLocked and the directory", err)
	}
	// The refusal left the first one alone.
	wantValue(t, server, "/a", "1")
	server.Stop()
	start(t, dir).Stop()
}

func TestOnlyTheUserMayRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "etcd")
	server := start(t, dir)
	socket := strings.TrimPrefix(server.Endpoint(), "unix://")
	for _, path := range []string{dir, filepath.Join(dir, "data"), filepath.Dir(socket)} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if open := info.Mode().Perm() & 0o077; open != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
	}
	server.Stop()
	if _, err := os.Stat(filepath.Dir(socket)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder of the sockets after the stop: %v", err)
	}
}

func TestDirectoryCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	readOnly := filepath.Join(t.TempDir(), "read-only")
	if err := os.Mkdir(readOnly, 0o500); err != nil {
		t.Fatal(err)
	}
	dirs := map[string]string{"a file": file, "below a file": filepath.Join(file, "etcd")}
	if os.Getuid() != 0 { // Root writes where it likes.
		dirs["read-only"], dirs["below a read-only folder"] = readOnly, filepath.Join(readOnly, "etcd")
	}
	for name, dir := range dirs {
		t.Run(name, func(t *testing.T) {
			server, err := Start(t.Context(), dir)
			if err == nil {
				server.Stop()
				t.Fatal("started")
			}
			if !strings.Contains(err.Error(), dir) {
				t.Errorf("%q does not name %s", err, dir)
			}
		})
	}
}

// TestStartHeedsItsContext ends a start that is not wanted any more, and leaves nothing locked.
func TestStartHeedsItsContext(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	server, err := Start(ctx, dir)
	if err == nil {
		// It was ready before anybody looked.
		server.Stop()
	} else if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	start(t, dir).Stop()
}
