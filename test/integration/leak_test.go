package integration

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// TestWatchesLeaveNothing opens and closes many watches, and wants the server back where it was.
func TestWatchesLeaveNothing(t *testing.T) {
	s := startStandalone(t, framework.ServerOptions{})
	c := standaloneCaller(t, s)
	c.must(post("clusterprofiles", profileNamed("a", managed)))
	openAndClose := func(n int) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		client, err := rest.HTTPClientFor(rest.CopyConfig(adminOf(t, s)))
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+"/apis/"+ours+"/v1alpha2/clusterprofiles?watch=true", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
		}
	}
	openAndClose(50) // what is made once is made
	eventually(t, "calm", func() bool { return goroutines(t, c) < 1000 })
	before := goroutines(t, c)
	for range 5 {
		openAndClose(400)
	}
	eventually(t, fmt.Sprintf("no more than %d goroutines and some", before), func() bool { return goroutines(t, c) < before+50 })
	rss, err := s.RSS()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d goroutines before and %d after 2,000 watches; %d MiB resident", before, goroutines(t, c), rss>>20)
}

var goroutineMetric = regexp.MustCompile(`(?m)^go_goroutines (\d+)`)

func goroutines(t *testing.T, c caller) int {
	t.Helper()
	a := c.must(request{method: "GET", path: "/metrics", accept: "text/plain"})
	found := goroutineMetric.FindSubmatch(a.raw)
	if found == nil {
		t.Fatal("no go_goroutines")
	}
	n, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
