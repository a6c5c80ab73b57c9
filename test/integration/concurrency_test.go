package integration

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestParallelWrites lets one of fifty writers win that all start from one resourceVersion, and loses no write (cases.md, 22).
func TestParallelWrites(t *testing.T) {
	c := newCaller(t, hub.AdminConfig(), ours, newNamespace(t), "v1alpha2")
	for _, kind := range []struct{ path, status, body string }{
		{"placementdecisions/x", "", decisionNamed("x", `,"schedulerName":"s0","decisions":[]`)},
		{"clusterprofiles/x", "/status", profileNamed("x", managed)},
	} {
		resource, _, _ := strings.Cut(kind.path, "/")
		start := c.must(post(resource, kind.body))
		var won, lost atomic.Int32
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				edit := put(kind.path, start, `"s0"`, fmt.Sprintf(`"s%d"`, i+1), `"clusterManager":`, fmt.Sprintf(`"displayName":"d%d","clusterManager":`, i))
				switch a := c.do(edit); a.code {
				case http.StatusOK:
					won.Add(1)
				case http.StatusConflict:
					lost.Add(1)
				default:
					t.Errorf("%s: %d %s", kind.path, a.code, shorten(string(a.raw)))
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 || lost.Load() != 49 {
			t.Errorf("%s: %d won, %d lost", kind.path, won.Load(), lost.Load())
		}
	}
	// Fifty writers that each add their own entry, by a merge that needs no resourceVersion, all succeed and all are there.
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			c.must(patch("placementdecisions/x", fmt.Sprintf(`{"metadata":{"annotations":{"writer-%d":"x"}}}`, i)))
		})
	}
	wg.Wait()
	if annotations := c.must(get("placementdecisions/x")).field("metadata", "annotations").(map[string]any); len(annotations) != 50 {
		t.Errorf("%d of 50 writes are there", len(annotations))
	}
}
