package integration

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// testWhoseReport takes a report for the ClusterProfile that it is meant for, and for no other.
func testWhoseReport(t *testing.T, f fleet) {
	if a := f.statuses.do(reportOf("none", "")); a.code != http.StatusNotFound || a.status.Reason != "NotFound" || a.status.Details.Kind != "clusterstatuses" {
		t.Errorf("no such cluster: %d %s", a.code, a.raw)
	}
	f.add("a")
	uid := fmt.Sprint(f.profiles.must(get("clusterprofiles/a")).field("metadata", "uid"))
	status := fmt.Sprint(f.status("a").field("metadata", "uid"))
	for _, other := range []string{"00000000-0000-0000-0000-000000000000", "", status} {
		if a := f.statuses.do(reportOf("a", fmt.Sprintf(`"clusterProfileUID":%q`, other))); a.code != http.StatusConflict || a.status.Reason != "Conflict" || !strings.Contains(a.status.Message, uid) {
			t.Errorf("of uid %q: %d %s", other, a.code, a.raw)
		}
	}
	f.report("a", fmt.Sprintf(`"clusterProfileUID":%q,`, uid)+rarely)
	f.untilPhase("a", "Ready")
	if uid == status {
		t.Error("a ClusterStatus has the uid of its ClusterProfile")
	}
}

// testReportsTooOften takes one report a second of one cluster, says when to come again, and leaves the others alone.
func testReportsTooOften(t *testing.T, f fleet) {
	f.add("a", "b")
	f.report("a", rarely)
	again := f.statuses.do(reportOf("a", rarely))
	if again.code == http.StatusCreated { // The machine was slow.
		again = f.statuses.do(reportOf("a", rarely))
	}
	if again.code != http.StatusTooManyRequests || again.status.Reason != "TooManyRequests" || again.status.Details.RetryAfterSeconds != 1 || again.header.Get("Retry-After") != "1" {
		t.Errorf("a second report at once: %d, Retry-After %q, %s", again.code, again.header.Get("Retry-After"), again.raw)
	}
	f.statuses.must(reportOf("b", rarely))
	f.report("a", rarely) // after a while
}

// testReportDryRun checks a report as any other, and keeps nothing of it.
func testReportDryRun(t *testing.T, f fleet) {
	f.add("a")
	before := f.status("a")
	dry := reportOf("a", rarely+`,"kubernetesVersion":"v0"`)
	dry.path += "?dryRun=All"
	for range 3 { // It is no report, also for how many there may be in a second.
		if a := f.statuses.must(dry); a.field("status", "nextReportSeconds") == nil || a.field("status", "receivedTime") == nil {
			t.Errorf("a dry run is answered with %s", a.raw)
		}
	}
	if a := f.statuses.do(get("clusterstatuses/a/report")); a.code != http.StatusNotFound {
		t.Errorf("the newest report: %d %s", a.code, a.raw)
	}
	bad := dry
	bad.path = "clusterstatuses/a/report?dryRun=Some"
	if a := f.statuses.do(bad); a.code != http.StatusUnprocessableEntity {
		t.Errorf("a dry run of some: %d", a.code)
	}
	// What was published after the dry runs does not have them.
	f.add("mark")
	f.report("mark", rarely)
	f.untilPhase("mark", "Ready")
	if after := f.status("a"); after.versionOf() != before.versionOf() {
		t.Errorf("a dry run changed %s", after.raw)
	}
}

// testReportClocks takes reports of clusters whose clocks are wrong. When they are alive is by the server's clock; theirs only shows
// (cases.md, 13).
func testReportClocks(t *testing.T, f fleet) {
	clocks := map[string]time.Duration{"right": 0, "behind": -10 * time.Minute, "ahead": 10 * time.Minute, "year-ahead": 365 * 24 * time.Hour}
	report := func(name string, round int) string {
		changed := fmt.Sprintf(`,"kubernetesVersion":"v1.%d"`, round)
		switch off, known := clocks[name]; {
		case known:
			return fmt.Sprintf(`"time":%q,`, time.Now().Add(off).UTC().Format(time.RFC3339)) + rarely + changed
		case name == "year-0":
			return `"time":"0000-01-01T00:00:00Z",` + rarely + changed
		default:
			return rarely + changed
		}
	}
	names := []string{"right", "behind", "ahead", "year-ahead", "year-0", "none"}
	f.add(names...)
	began := time.Now().Add(-time.Second)
	transitions := map[string]string{}
	for round := range 3 {
		for _, name := range names {
			f.report(name, report(name, round))
		}
		for _, name := range names {
			a := f.until(name, fmt.Sprint("report ", round), func(a answer) bool { return a.field("status", "kubernetesVersion") == fmt.Sprint("v1.", round) })
			since := fmt.Sprint(condition(a, "Ready"), condition(a, "Reachable"))
			if round > 0 && since != transitions[name] {
				t.Errorf("%s: %s became %s", name, transitions[name], since)
			}
			transitions[name] = since
			if a.field("status", "phase") != "Ready" {
				t.Errorf("%s: %v", name, a.field("status", "phase"))
			}
			for _, at := range []any{a.field("status", "lastReportTime"), condition(a, "Ready")["lastTransitionTime"], condition(a, "Reachable")["lastTransitionTime"], a.field("metadata", "creationTimestamp")} {
				if at := timeOf(t, at); at.Before(began.Truncate(time.Second)) || at.After(time.Now().Add(time.Second)) {
					t.Errorf("%s: a time is %s", name, at)
				}
			}
			wantSkew(t, name, clocks, a.field("status", "clockSkewSeconds"))
		}
	}
	// A clock that is put right is no news about the cluster, but the skew goes.
	clocks["ahead"] = 0
	f.report("ahead", report("ahead", 2))
	f.until("ahead", "no skew any more", func(a answer) bool { return a.field("status", "clockSkewSeconds") == nil })
	newest := f.statuses.must(get("clusterstatuses/year-ahead/report"))
	if got := timeOf(t, newest.field("status", "receivedTime")); got.After(time.Now().Add(time.Second)) || got.Before(began) {
		t.Errorf("the newest report arrived at %s", got)
	}
}

func wantSkew(t *testing.T, name string, clocks map[string]time.Duration, shown any) {
	t.Helper()
	off, known := clocks[name]
	got, _ := shown.(float64)
	switch {
	case name == "none", off == 0 && known:
		if shown != nil {
			t.Errorf("%s: a skew of %v", name, shown)
		}
	case name == "year-0":
		if got > -2000*365*24*3600 {
			t.Errorf("%s: a skew of %v", name, shown)
		}
	case got < off.Seconds()-30 || got > off.Seconds()+30:
		t.Errorf("%s: a skew of %v", name, shown)
	}
}

// testNewestReport reads what was reported, with the exact time, before and after it is published.
func testNewestReport(t *testing.T, f fleet) {
	f.add("a")
	const spec = `"intervalSeconds":3600,"kubernetesVersion":"v1.37.2","nodes":{"total":3,"ready":2},"resources":{"capacity":{"nvidia.com/gpu":"8"}},` +
		`"properties":[{"name":"z","value":"1"},{"name":"a","value":""}],"conditions":[{"type":"C","status":"Unknown","reason":"R","message":"m"}]`
	before := time.Now()
	sent := f.report("a", spec)
	at := timeOf(t, sent.field("status", "receivedTime"))
	if at.Before(before.Add(-time.Millisecond)) || at.After(time.Now().Add(time.Millisecond)) {
		t.Errorf("received at %s, which is not between %s and %s", at, before, time.Now())
	}
	if sent.field("spec", "kubernetesVersion") != nil {
		t.Errorf("the answer repeats the report: %s", sent.raw)
	}
	uid := f.profiles.must(get("clusterprofiles/a")).field("metadata", "uid")
	for range 2 {
		read := f.statuses.must(get("clusterstatuses/a/report"))
		if got := timeOf(t, read.field("status", "receivedTime")); !got.Equal(at) {
			t.Errorf("received at %s, read as %s", at, got)
		}
		for _, part := range []string{"nodes", "resources", "properties", "conditions"} {
			if !strings.Contains(spec, part) || !strings.Contains(string(read.raw), spec[strings.Index(spec, `"properties"`):]) {
				t.Errorf("%s: read %s", part, read.raw)
			}
		}
		want := map[string]any{"name": "a", "namespace": f.namespace}
		if diff := cmp.Diff(want, read.field("metadata"), cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == `["creationTimestamp"]` }, cmp.Ignore())); diff != "" {
			t.Errorf("metadata (-want +got):\n%s", diff)
		}
		if read.field("spec", "clusterProfileUID") != uid || read.field("spec", "intervalSeconds") != float64(3600) {
			t.Errorf("read %s", read.raw)
		}
		f.untilPhase("a", "Ready") // So it is published, the second time.
	}
}

// testNextReport asks to come again after what the cluster wishes, or else the server, and not to everyone after the same time.
func testNextReport(t *testing.T, f fleet) {
	f.add("a")
	for spec, interval := range map[string]float64{"": 10, `"intervalSeconds":100`: 100, `"intervalSeconds":3600`: 3600} {
		seen := map[string]bool{}
		for range 20 {
			r := reportOf("a", spec)
			r.path += "?dryRun=All"
			next, err := strconv.ParseFloat(fmt.Sprint(f.statuses.must(r).field("status", "nextReportSeconds")), 64)
			if err != nil || next < interval*0.9-0.5 || next > interval*1.1+0.5 {
				t.Errorf("%q: asked to come again in %v s (%v)", spec, next, err)
			}
			seen[fmt.Sprint(next)] = true
		}
		if interval >= 100 && len(seen) < 3 {
			t.Errorf("%q: everybody is asked to come again in %v s", spec, seen)
		}
	}
}
