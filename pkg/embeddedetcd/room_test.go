package embeddedetcd

import (
	"crypto/rand"
	"errors"
	"fmt"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// TestFullDatabase overwrites one key until the database is full. After a restart it takes writes again, and what was acknowledged is
// there.
func TestFullDatabase(t *testing.T) {
	dir := t.TempDir()
	server, err := startWith(t.Context(), dir, 4<<20)
	if err != nil {
		t.Fatal(err)
	}
	etcd := client(t, server)
	value, last := make([]byte, 300_000), ""
	for i := 0; ; i++ {
		if i == 100 {
			t.Fatal("30 MB fit into 4 MiB")
		}
		_, _ = rand.Read(value)
		number := fmt.Sprint(i)
		_, err := etcd.Put(t.Context(), "a", number+string(value))
		if errors.Is(err, rpctypes.ErrNoSpace) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		last = number + string(value)
	}
	server.Stop()
	if server, err = startWith(t.Context(), dir, 4<<20); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	wantValue(t, server, "a", last)
	put(t, server, "b", "written again")
	wantValue(t, server, "b", "written again")
}
