package embeddedetcd

import (
	"runtime"
	"strings"
	"testing"
)

// TestLogIsNotKeptInMemory writes one large value again and again: what was written must not stay in memory for members that are not there.
func TestLogIsNotKeptInMemory(t *testing.T) {
	server := start(t, t.TempDir())
	defer server.Stop()
	c := client(t, server)
	value := strings.Repeat("x", 1<<19)
	const writes = 400
	for range writes {
		if _, err := c.Put(t.Context(), "/large", value); err != nil {
			t.Fatal(err)
		}
	}
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	t.Logf("%d MB in use after %d MB of writes", memory.HeapAlloc>>20, writes*len(value)>>20)
	// etcd cuts it once in a hundred writes; half of all is well above that.
	if limit := uint64(writes*len(value)/2 + 20<<20); memory.HeapAlloc > limit {
		t.Errorf("%d bytes in use, more than %d", memory.HeapAlloc, limit)
	}
}
