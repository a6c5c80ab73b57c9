package integration

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

const initialEvents = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"

// testStatusBookmarks wants a bookmark before the end of a watch, from which it can go on.
func testStatusBookmarks(t *testing.T, f fleet) {
	f.add("a")
	events, _ := f.statuses.watch("allowWatchBookmarks=true&timeoutSeconds=4&resourceVersion="+fmt.Sprint(f.statuses.must(get("clusterstatuses")).versionOf()), "clusterstatuses")
	version := ""
	var seen []string
	for e := range events {
		seen = append(seen, e.Type)
		if e.Type == "BOOKMARK" {
			version = fmt.Sprint(e.metadata()["resourceVersion"])
			if e.Object["kind"] != "ClusterStatus" || e.isEndOfInitialEvents() {
				t.Errorf("a bookmark is %v", e.Object)
			}
		}
	}
	if !positive(version) {
		t.Fatalf("no bookmark in %v", seen)
	}
	resumed, _ := f.statuses.watch("resourceVersion="+version, "clusterstatuses")
	f.add("b")
	if e := next(t, resumed); e.String() != "ADDED b" {
		t.Errorf("after the bookmark came %s", e)
	}
	none, _ := f.statuses.watch("timeoutSeconds=3", "clusterstatuses")
	for e := range none {
		if e.Type == "BOOKMARK" {
			t.Error("a bookmark that nobody asked for")
		}
	}
}

// testStatusInitialEvents streams the initial list of nothing and of one, in the namespace and in all, with selectors and without
// (cases.md, 33).
func testStatusInitialEvents(t *testing.T, f fleet) {
	for _, n := range []int{0, 1} {
		if n > 0 {
			f.add("a")
		}
		for path, want := range map[string]int{
			"clusterstatuses?": n, "clusterstatuses?resourceVersion=0&": n, "clusterstatuses?fieldSelector=metadata.name%3Da&": n,
			"clusterstatuses?labelSelector=no%3Dwhere&": 0, "clusterstatuses?fieldSelector=status.phase%3DUnknown&": n,
			"/apis/GROUP/VERSION/clusterstatuses?fieldSelector=metadata.namespace%3D" + f.namespace + "&": n,
		} {
			path, query, _ := strings.Cut(path, "?")
			streamed(t, f.statuses, path, query, want)
		}
	}
}

// streamed streams an initial list, wants so many objects and the mark behind them, and returns how long that took.
func streamed(t *testing.T, c caller, path, query string, want int) time.Duration {
	t.Helper()
	started := time.Now()
	events, code := c.watch(query+initialEvents, path)
	if code != http.StatusOK {
		t.Fatalf("%s: %d", query, code)
	}
	for _, e := range take(t, events, want) {
		if e.Type != "ADDED" {
			t.Errorf("%s %s: %s", path, query, e)
		}
	}
	if end := next(t, events); !end.isEndOfInitialEvents() || !positive(fmt.Sprint(end.metadata()["resourceVersion"])) {
		t.Errorf("%s %s: behind %d objects came %v", path, query, want, end)
	}
	return time.Since(started)
}

// TestFiveThousandStatuses streams, pages and resumes where there are many (cases.md, 33, 35 and 37).
func TestFiveThousandStatuses(t *testing.T) {
	t.Parallel()
	const n = 5000
	f, _ := standaloneFleet(t)
	f.addMany(n, func(i int) string { return profileNamed(fmt.Sprintf("c%04d", i), managed) })
	t.Logf("the initial list took %s", streamed(t, f.statuses, "clusterstatuses", "", n).Round(time.Millisecond))

	// Pages while others come and go: the list as it was.
	want := f.names("")
	var names []string
	token := ""
	for page := 0; page == 0 || token != ""; page++ {
		a := f.statuses.must(get("clusterstatuses?limit=500&continue=" + token))
		names = append(names, namesOf(a)...)
		token, _ = a.field("metadata", "continue").(string)
		f.profiles.must(request{method: http.MethodDelete, path: fmt.Sprintf("clusterprofiles/c%04d", page*400+700)})
		f.add(fmt.Sprintf("c%04da", page*400+600))
	}
	if !slices.Equal(names, want) {
		t.Errorf("the pages have %d names, the list had %d", len(names), len(want))
	}

	// Who comes back a hundred times gets nothing twice.
	version := fmt.Sprint(f.statuses.must(get("clusterstatuses?limit=1")).versionOf())
	var watches []<-chan event
	for range 100 {
		events, code := f.statuses.watch("resourceVersion="+version, "clusterstatuses")
		if code != http.StatusOK {
			t.Fatalf("from %s: %d", version, code)
		}
		watches = append(watches, events)
	}
	f.add("mark")
	for _, events := range watches {
		if e := next(t, events); e.String() != "ADDED mark" {
			t.Errorf("after the list came %s", e)
		}
	}
	from0, _ := f.statuses.watch("resourceVersion=0", "clusterstatuses")
	for _, e := range take(t, from0, len(f.names(""))) {
		if e.Type != "ADDED" {
			t.Errorf("from 0: %s", e)
		}
	}
}
