package integration

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// TestFullEtcd fills etcd to its quota. Reads go on, writes fail soon and say why, the server stays ready, and when etcd has been
// compacted, defragmented and disarmed, all is as before without a restart and nothing that was acknowledged is lost (cases.md, 43).
func TestFullEtcd(t *testing.T) {
	etcd, client := etcdWith(t, framework.EtcdOptions{QuotaBytes: 16 << 20})
	s := startStandalone(t, framework.ServerOptions{Etcd: etcd})
	c := standaloneCaller(t, s)
	acknowledged := map[string]bool{}
	var refused answer
	for i := 0; refused.code == 0; i++ {
		if i > 100 {
			t.Fatal("a hundred times 400 KB fit into 16 MiB")
		}
		name := fmt.Sprint("c", i)
		sent := time.Now()
		a := c.do(post("clusterprofiles", profileNamed(name, fmt.Sprintf(`,"spec":{"displayName":%q,"clusterManager":{"name":"m"}}`, incompressible(t, 300_000)))))
		switch {
		case a.code == http.StatusCreated:
			acknowledged[name] = true
		case time.Since(sent) > 5*time.Second:
			t.Errorf("a write that fails took %s", time.Since(sent))
			fallthrough
		default:
			refused = a
		}
	}
	if refused.code != http.StatusInternalServerError || !strings.Contains(refused.status.Message, "etcd is full") || !strings.Contains(refused.status.Message, "disarm its alarm") {
		t.Errorf("a write to a full etcd: %d %s", refused.code, shorten(refused.status.Message))
	}
	wantAll := func(when string) {
		t.Helper()
		list := c.must(get("clusterprofiles"))
		items, _ := list.object["items"].([]any)
		if len(items) != len(acknowledged) {
			t.Errorf("%s: %d objects, %d were acknowledged", when, len(items), len(acknowledged))
		}
	}
	wantAll("while etcd is full")
	for _, r := range []request{
		patch("clusterprofiles/c0", `{"metadata":{"labels":{"a":"b"}}}`),
		patchStatus("c0", `{"version":{"kubernetes":"v1.37.2"}}`),
	} {
		if a := c.do(r); a.code != http.StatusInternalServerError || !strings.Contains(a.status.Message, "etcd is full") {
			t.Errorf("%s %s: %d %s", r.method, r.path, a.code, shorten(a.status.Message))
		}
	}
	// It cannot write but it can answer: to take it out of service would help nobody.
	if a := c.do(request{method: http.MethodGet, path: "/readyz", accept: "text/plain"}); a.code != http.StatusOK {
		t.Errorf("readyz: %d %s", a.code, a.raw)
	}
	c.must(request{method: http.MethodDelete, path: "clusterprofiles/c0"})
	delete(acknowledged, "c0")
	wantAll("after a deletion")

	recoverFull(t, client)
	eventually(t, "writes to go on", func() bool {
		return c.do(patch("clusterprofiles/c1", `{"metadata":{"labels":{"a":"b"}}}`)).code == http.StatusOK
	})
	c.must(post("clusterprofiles", profileNamed("after", managed)))
	acknowledged["after"] = true
	wantAll("afterwards")
}

// recoverFull does what docs/operations say: etcd is compacted, defragmented and disarmed.
func recoverFull(t *testing.T, client *clientv3.Client) {
	t.Helper()
	now, err := client.Get(t.Context(), "any")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Compact(t.Context(), now.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Defragment(t.Context(), client.Endpoints()[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := client.AlarmDisarm(t.Context(), &clientv3.AlarmMember{}); err != nil {
		t.Fatal(err)
	}
}

// incompressible is text that takes as much in etcd as it is long.
func incompressible(t *testing.T, n int) string {
	t.Helper()
	data := make([]byte, n)
	if _, err := rand.Read(data); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(data)
}
