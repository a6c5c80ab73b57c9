package embeddedetcd

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// saved returns a snapshot of a member on dir that has /a, after which /a was changed.
func saved(t *testing.T, dir string) []byte {
	t.Helper()
	server := start(t, dir)
	defer server.Stop()
	put(t, server, "/a", "before")
	var out bytes.Buffer
	if err := Snapshot(t.Context(), dir, &out); err != nil {
		t.Fatal(err)
	}
	put(t, server, "/a", "after")
	if _, err := Restore(dir, &out, time.Now()); !errors.Is(err, ErrLocked) {
		t.Errorf("under a running server: %v", err)
	}
	if out.Len() == 0 {
		t.Error("the snapshot was read before the lock was looked at")
	}
	return out.Bytes()
}

var now = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func TestRestoreGoesBack(t *testing.T) {
	dir := t.TempDir()
	snapshot := saved(t, dir)
	old, err := Restore(dir, bytes.NewReader(snapshot), now)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "data.old-20300102T030405Z"); old != want {
		t.Errorf("the old data is in %q, want %q", old, want)
	}
	wantFolder(t, dir, "data", filepath.Base(old), "lock")

	server := start(t, dir)
	wantValue(t, server, "/a", "before")
	got, err := client(t, server).Get(t.Context(), "/a")
	if err != nil || got.Header.Revision < RevisionBump {
		t.Errorf("it counts on from %d (%v)", got.Header.Revision, err)
	}
	event := <-client(t, server).Watch(t.Context(), "/a", clientv3.WithRev(2))
	if !errors.Is(event.Err(), rpctypes.ErrCompacted) {
		t.Errorf("a watch from before: %v", event.Err())
	}
	put(t, server, "/a", "on")
	server.Stop()

	// What was put aside is whole.
	if err := errors.Join(os.RemoveAll(filepath.Join(dir, "data")), os.Rename(old, filepath.Join(dir, "data"))); err != nil {
		t.Fatal(err)
	}
	again := start(t, dir)
	defer again.Stop()
	wantValue(t, again, "/a", "after")
}

func TestRestoreIntoNothing(t *testing.T) {
	snapshot := saved(t, t.TempDir())
	dir := filepath.Join(t.TempDir(), "new")
	if old, err := Restore(dir, bytes.NewReader(snapshot), now); err != nil || old != "" {
		t.Fatal(old, err)
	}
	server := start(t, dir)
	defer server.Stop()
	wantValue(t, server, "/a", "before")
}

// TestRestoreRefuses wants the data to stay where it is when it cannot be replaced.
func TestRestoreRefuses(t *testing.T) {
	dir := t.TempDir()
	snapshot := saved(t, dir)
	changed := bytes.Clone(snapshot)
	changed[len(changed)/2] ^= 1
	for name, snapshot := range map[string][]byte{
		"nothing":        nil,
		"half of it":     snapshot[:len(snapshot)/2],
		"whole pages":    snapshot[:4096],
		"a changed byte": changed,
		"something else": []byte("apiVersion: v1\n"),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Restore(dir, bytes.NewReader(snapshot), now)
			if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "no complete snapshot") {
				t.Errorf("error %v", err)
			}
			wantFolder(t, dir, "data", "lock")
		})
	}
	t.Run("twice in a second", func(t *testing.T) {
		if err := os.Mkdir(filepath.Join(dir, "data.old-20300102T030405Z"), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := Restore(dir, bytes.NewReader(snapshot), now); err == nil {
			t.Error("it has replaced what was kept")
		}
		wantFolder(t, dir, "data", "data.old-20300102T030405Z", "lock")
	})
	server := start(t, dir)
	defer server.Stop()
	wantValue(t, server, "/a", "after")
}

func wantFolder(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if !slices.Equal(names, want) {
		t.Errorf("the folder has %q, want %q", names, want)
	}
}

func TestSnapshotToFile(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	file := filepath.Join(to, "binnacle.db")
	if err := os.WriteFile(file, []byte("yesterday's"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := SnapshotTo(t.Context(), dir, file); err == nil {
		t.Error("a snapshot without a server")
	}
	wantFolder(t, to, "binnacle.db")
	if kept, err := os.ReadFile(file); err != nil || string(kept) != "yesterday's" {
		t.Errorf("the one of before is %q, %v", kept, err)
	}
	server := start(t, dir)
	defer server.Stop()
	if err := SnapshotTo(t.Context(), dir, file); err != nil {
		t.Fatal(err)
	}
	wantFolder(t, to, "binnacle.db")
	if err := checkDatabase(file); err != nil {
		t.Error(err)
	}
}
