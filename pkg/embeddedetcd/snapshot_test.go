package embeddedetcd

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

func TestSnapshot(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	if err := Snapshot(t.Context(), dir, &out); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), dir) || out.Len() > 0 {
		t.Errorf("without a server: %v, %d bytes", err, out.Len())
	}
	server, err := Start(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	if err := Snapshot(t.Context(), dir, &out); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "snapshot.db")
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := checkDatabase(file); err != nil {
		t.Error(err)
	}
	db, err := bolt.Open(file, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.View(func(tx *bolt.Tx) error {
		if tx.Bucket([]byte("key")) == nil {
			return errors.New("no keys")
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}
