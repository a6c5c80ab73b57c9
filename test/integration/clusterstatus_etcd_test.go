package integration

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// TestReportsWithoutEtcd cuts the server off from etcd. Reports of clusters that it knows are taken, what is known can be read by who takes
// any state, and everything else is answered soon and told to come again; when etcd is back, all is published and watchers miss nothing.
func TestReportsWithoutEtcd(t *testing.T) {
	t.Parallel()
	etcd, _ := externalEtcd(t)
	between := newBalancer(t, portOf(t, etcd.URL))
	through := *etcd
	through.URL = fmt.Sprint("https://127.0.0.1:", between.Port)
	s := startStandalone(t, framework.ServerOptions{Etcd: &through, Flags: []string{"--cluster-report-publish-interval=200ms"}})
	f := newFleet(t, adminOf(t, s), "fleet")
	f.add("a", "b")
	f.report("a", rarely+`,"kubernetesVersion":"v1"`)
	f.untilPhase("a", "Ready")
	listed := f.statuses.must(get("clusterstatuses"))
	events, _ := f.statuses.watch("resourceVersion="+fmt.Sprint(listed.versionOf()), "clusterstatuses")

	between.SetBackends()
	between.Cut()
	// The answer to a read that has to be fresh, within the time that a read may wait.
	within(t, requestTimeout, "the cut to be noticed", func() bool {
		return f.statuses.do(get("clusterstatuses/a")).code == http.StatusServiceUnavailable
	})
	fresh := []request{get("clusterstatuses"), get("clusterstatuses/b"), reportOf("unheard-of", rarely), get("clusterstatuses/a/report")}
	each(len(fresh), len(fresh), func(i int) {
		r, sent := fresh[i], time.Now()
		a := f.statuses.do(r)
		if a.code != http.StatusServiceUnavailable || a.status.Reason != "ServiceUnavailable" || a.header.Get("Retry-After") == "" {
			t.Errorf("%s %s: %d %s", r.method, r.path, a.code, shorten(string(a.raw)))
		}
		if took := time.Since(sent); took > 15*time.Second {
			t.Errorf("%s %s took %s", r.method, r.path, took)
		}
	})
	f.report("a", rarely+`,"kubernetesVersion":"v2"`)
	f.report("b", rarely+`,"kubernetesVersion":"v2"`)
	for _, query := range []string{"resourceVersion=0", "resourceVersion=" + fmt.Sprint(listed.versionOf())} {
		a := f.statuses.must(get("clusterstatuses?" + query))
		if got := fmt.Sprint(namesOf(a)); got != "[a b]" || a.versionOf() != listed.versionOf() {
			t.Errorf("%s without etcd: %s at %v, want %v", query, got, a.versionOf(), listed.versionOf())
		}
	}

	between.SetBackends(portOf(t, etcd.URL))
	for _, name := range []string{"a", "b"} {
		within(t, 60*time.Second, name+" to be published", func() bool {
			a := f.statuses.do(get("clusterstatuses/" + name))
			return a.code == http.StatusOK && a.field("status", "kubernetesVersion") == "v2" && a.field("status", "phase") == "Ready"
		})
	}
	seen := map[string]bool{}
	for _, e := range take(t, events, 2) {
		seen[e.String()] = true
	}
	if !seen["MODIFIED a"] || !seen["MODIFIED b"] {
		t.Errorf("the watch had %v", seen)
	}
	if a := f.statuses.do(reportOf("unheard-of", rarely)); a.code != http.StatusNotFound {
		t.Errorf("a cluster that there is not: %d %s", a.code, a.raw)
	}
}
