package integration

import (
	"fmt"
	"net/http"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// TestPagingAcrossCompaction goes on with a page after etcd has forgotten the revision of the first one: either the server still knows
// it, or it answers 410 with a token that goes on from there (cases.md, 37).
func TestPagingAcrossCompaction(t *testing.T) {
	etcd, client := externalEtcd(t)
	s := startStandalone(t, framework.ServerOptions{Etcd: etcd})
	c := standaloneCaller(t, s)
	for i := range 10 {
		c.must(post("placementdecisions", decisionNamed(fmt.Sprintf("d%02d", i), `,"decisions":[]`)))
	}
	first := c.must(get("placementdecisions?limit=3"))
	token := first.field("metadata", "continue").(string)
	for range 5 {
		c.must(patch("placementdecisions/d00", fmt.Sprintf(`{"schedulerName":%q}`, token[:5])))
		c.must(patch("placementdecisions/d00", `{"schedulerName":"s"}`))
	}
	now, err := client.Get(t.Context(), "any")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Compact(t.Context(), now.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
	// A restart takes what the server remembers by itself.
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	rest := c.do(get("placementdecisions?limit=100&continue=" + token))
	if rest.code == http.StatusGone {
		fresh := rest.field("metadata", "continue")
		if rest.status.Reason != "Expired" || fresh == nil || fresh == "" {
			t.Fatalf("410 without a token to go on with: %s", rest.raw)
		}
		rest = c.must(get(fmt.Sprint("placementdecisions?limit=100&continue=", fresh)))
	}
	if items, ok := rest.field("items").([]any); !ok || len(items) != 7 {
		t.Errorf("%d: the rest is %s", rest.code, shorten(string(rest.raw)))
	}
}
