package integration

import (
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// TestMoreReportsThanTaken has more clusters report at once than the server is set to take: the rest is told when to come again, and
// other requests are served as ever.
func TestMoreReportsThanTaken(t *testing.T) {
	t.Parallel()
	const clusters, perSecond = 100, 5
	f, s := standaloneFleet(t, fmt.Sprint("--cluster-reports-per-second=", perSecond))
	f.addMany(clusters, func(i int) string { return profileNamed(fmt.Sprint("c", i), managed) })
	var accepted, refused atomic.Int64
	each(clusters, 16, func(i int) {
		a := f.statuses.do(reportOf(fmt.Sprint("c", i), ""))
		after, err := strconv.Atoi(a.header.Get("Retry-After"))
		switch {
		case a.code == http.StatusCreated:
			accepted.Add(1)
		case a.code == http.StatusTooManyRequests && a.status.Reason == "TooManyRequests" && err == nil && after >= 5 && a.status.Details.RetryAfterSeconds == int32(after):
			refused.Add(1)
		default:
			t.Errorf("%d, Retry-After %q: %s", a.code, a.header.Get("Retry-After"), a.raw)
		}
		sent := time.Now()
		f.profiles.must(get(fmt.Sprint("clusterprofiles/c", i)))
		if took := time.Since(sent); took > 5*time.Second {
			t.Errorf("a read of another kind took %s", took)
		}
	})
	t.Logf("%d were accepted, %d refused", accepted.Load(), refused.Load())
	if accepted.Load() < perSecond || refused.Load() == 0 {
		t.Errorf("%d were accepted, %d refused", accepted.Load(), refused.Load())
	}
	if counted := metric(t, s, `binnacle_reports_refused_total\{reason="overload"\}`); int64(counted) != refused.Load() {
		t.Errorf("the metric counts %d refused, it were %d", counted, refused.Load())
	}
	// A refused one gets in when the others have had theirs.
	within(t, requestTimeout, "a cluster to get its turn", func() bool { return f.statuses.do(reportOf("c99", rarely)).code == http.StatusCreated })
	f.untilPhase("c99", "Ready")
}

// TestReportsToFullEtcd fills etcd to its quota. Reports are taken and answered, the view is served, and when etcd has been disarmed
// everything that was reported meanwhile is published without a restart (cases.md, 43).
func TestReportsToFullEtcd(t *testing.T) {
	t.Parallel()
	etcd, client := etcdWith(t, framework.EtcdOptions{QuotaBytes: 16 << 20})
	s := startStandalone(t, framework.ServerOptions{Etcd: etcd, Flags: []string{"--cluster-report-publish-interval=200ms"}})
	f := newFleet(t, adminOf(t, s), "fleet")
	f.add("before", "meanwhile", "silent")
	f.report("before", rarely+`,"kubernetesVersion":"v1"`)
	f.untilPhase("before", "Ready")
	fill(t, f)
	events, _ := f.statuses.watch("resourceVersion="+fmt.Sprint(f.statuses.must(get("clusterstatuses")).versionOf()), "clusterstatuses")
	f.report("before", rarely+`,"kubernetesVersion":"v2"`)
	f.report("meanwhile", rarely+`,"kubernetesVersion":"v2"`)
	eventually(t, "a publication to fail", func() bool { return metric(t, s, `binnacle_report_publish_errors_total`) > 0 })
	if a := f.status("before"); a.field("status", "kubernetesVersion") != "v1" || a.field("status", "phase") != "Ready" {
		t.Errorf("while etcd is full: %s", a.raw)
	}
	if a := f.statuses.must(get("clusterstatuses/meanwhile/report")); a.field("spec", "kubernetesVersion") != "v2" {
		t.Errorf("the newest report while etcd is full: %s", a.raw)
	}
	if a := f.statuses.do(reportOf("silent", rarely)); a.code != http.StatusCreated {
		t.Errorf("a report while etcd is full: %d %s", a.code, a.raw)
	}
	if a := f.statuses.do(request{method: http.MethodGet, path: "/readyz", accept: "text/plain"}); a.code != http.StatusOK {
		t.Errorf("readyz: %d %s", a.code, a.raw)
	}
	recoverFull(t, client)
	for _, name := range []string{"before", "meanwhile"} {
		within(t, 60*time.Second, name+" to be published", func() bool { return f.status(name).field("status", "kubernetesVersion") == "v2" })
	}
	f.untilPhase("silent", "Ready")
	seen := map[string]bool{}
	for _, e := range take(t, events, 3) {
		seen[e.String()] = true
	}
	if len(seen) != 3 {
		t.Errorf("events: %v", seen)
	}
}

// fill writes to etcd until it refuses.
func fill(t *testing.T, f fleet) {
	t.Helper()
	for i := range 100 {
		a := f.profiles.do(post("clusterprofiles", profileNamed(fmt.Sprint("fill-", i), fmt.Sprintf(`,"spec":{"displayName":%q,"clusterManager":{"name":"m"}}`, incompressible(t, 300_000)))))
		if a.code != http.StatusCreated {
			return
		}
	}
	t.Fatal("a hundred times 400 KB fit into 16 MiB")
}
