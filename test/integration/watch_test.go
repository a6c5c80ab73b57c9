package integration

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// event is one line of a watch.
type event struct {
	Type   string         `json:"type"`
	Object map[string]any `json:"object"`
}

func (e event) metadata() map[string]any {
	m, _ := e.Object["metadata"].(map[string]any)
	return m
}

func (e event) String() string { return fmt.Sprint(e.Type, " ", e.metadata()["name"]) }

// isEndOfInitialEvents says whether the event is the bookmark after the initial ones.
func (e event) isEndOfInitialEvents() bool {
	annotations, _ := e.metadata()["annotations"].(map[string]any)
	return e.Type == "BOOKMARK" && annotations["k8s.io/initial-events-end"] == "true"
}

// watch opens a watch and delivers its events until the test ends or the server ends it.
func (c caller) watch(query string, path string) (<-chan event, int) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	c.t.Cleanup(cancel)
	url := fmt.Sprintf("%s/apis/%s/%s/namespaces/%s/%s?watch=true&%s", c.url, c.group, c.version, c.namespace, path, query)
	if strings.HasPrefix(path, "/") {
		url = c.url + c.expand(path) + "?watch=true&" + query
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	resp, err := c.client.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	events := make(chan event, 10000)
	go func() {
		defer close(events)
		defer resp.Body.Close()
		lines := bufio.NewReader(resp.Body)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			var e event
			if json.Unmarshal(line, &e) == nil {
				events <- e
			}
		}
	}()
	return events, resp.StatusCode
}

// next waits for an event.
func next(t *testing.T, events <-chan event) event {
	t.Helper()
	select {
	case e, ok := <-events:
		if !ok {
			t.Fatal("the watch has ended")
		}
		return e
	case <-time.After(requestTimeout):
		t.Fatal("no event")
	}
	return event{}
}

// take waits for n events.
func take(t *testing.T, events <-chan event, n int) []event {
	t.Helper()
	var taken []event
	for range n {
		taken = append(taken, next(t, events))
	}
	return taken
}

// TestInitialEvents streams the initial list and ends it with the marked bookmark, for nothing, one and many objects, with and without
// selectors, in one namespace and in all (cases.md, 33).
func TestInitialEvents(t *testing.T) {
	const query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
	for _, n := range []int{0, 1, 300} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			c := newCaller(t, hub.AdminConfig(), ours, newNamespace(t), "v1alpha2")
			for i := range n {
				c.must(post("placementdecisions", fmt.Sprintf(`{"apiVersion":"GROUP/VERSION","kind":"PlacementDecision","metadata":{"name":"d%d","labels":{"k":"v%d"}},"decisions":[]}`, i, i%3)))
			}
			for _, variant := range []struct {
				path, query string
				want        int
			}{
				{"placementdecisions", "", n},
				{"placementdecisions", "&resourceVersion=0", n},
				{"placementdecisions", "&labelSelector=k%3Dv0", (n + 2) / 3},
				{"placementdecisions", "&labelSelector=k%3Dnone", 0},
				{"placementdecisions", "&fieldSelector=metadata.name%3Dd0", min(n, 1)},
				{"/apis/GROUP/VERSION/placementdecisions", "&fieldSelector=metadata.namespace%3D" + c.namespace, n},
				{"clusterprofiles", "", 0},
			} {
				events, code := c.watch(query+variant.query, variant.path)
				if code != http.StatusOK {
					t.Fatalf("%s: %d", variant.query, code)
				}
				for _, e := range take(t, events, variant.want) {
					if e.Type != "ADDED" {
						t.Errorf("%s %s: %s", variant.path, variant.query, e)
					}
				}
				end := next(t, events)
				if version := fmt.Sprint(end.metadata()["resourceVersion"]); !end.isEndOfInitialEvents() || !positive(version) {
					t.Errorf("%s %s: %v", variant.path, variant.query, end)
				}
			}
		})
	}
	both := newPair(t, newNamespace(t), "v1alpha2")
	for _, bad := range []string{"sendInitialEvents=true", "sendInitialEvents=true&resourceVersionMatch=Exact", "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=-1",
		"resourceVersionMatch=NotOlderThan", "sendInitialEvents=maybe"} {
		both.agree(t, bad, get("placementdecisions?watch=true&timeoutSeconds=1&"+bad))
		both.agree(t, bad, get("placementdecisions?"+bad))
	}
}

func positive(version string) bool {
	n, err := strconv.ParseUint(version, 10, 64)
	return err == nil && n > 0
}

// TestBookmarks wants one by itself from time to time.
func TestBookmarks(t *testing.T) {
	c := newCaller(t, hub.AdminConfig(), ours, newNamespace(t), "v1alpha1")
	c.must(post("placementdecisions", decisionNamed("d", `,"decisions":[]`)))
	// The cache sends a last bookmark shortly before a watch times out.
	events, _ := c.watch("allowWatchBookmarks=true&timeoutSeconds=4", "placementdecisions")
	var seen []string
	for e := range events {
		seen = append(seen, e.Type)
		if e.Type == "BOOKMARK" && positive(fmt.Sprint(e.metadata()["resourceVersion"])) {
			return
		}
	}
	t.Errorf("no bookmark in %v", seen)
}

// TestSelectorsOnWatch turns leaving and entering a selector into DELETED and ADDED (cases.md, 2).
func TestSelectorsOnWatch(t *testing.T) {
	c := newCaller(t, hub.AdminConfig(), ours, newNamespace(t), "v1alpha2")
	labelled := func(value string) string {
		return fmt.Sprintf(`{"apiVersion":"GROUP/VERSION","kind":"PlacementDecision","metadata":{"name":"d","labels":{"k":%q}},"schedulerName":"s","decisions":[]}`, value)
	}
	byLabel, _ := c.watch("labelSelector=k%3Dv", "placementdecisions")
	byScheduler, _ := c.watch("fieldSelector=schedulerName%3Dt", "placementdecisions")
	c.must(post("placementdecisions", labelled("v")))
	c.must(patch("placementdecisions/d", `{"metadata":{"labels":{"k":"other"}}}`))
	c.must(patch("placementdecisions/d", `{"schedulerName":"t"}`))
	c.must(patch("placementdecisions/d", `{"metadata":{"labels":{"k":"v"}},"schedulerName":"u"}`))
	if got := fmt.Sprint(take(t, byLabel, 3)); got != "[ADDED d DELETED d ADDED d]" {
		t.Errorf("by label: %s", got)
	}
	if got := fmt.Sprint(take(t, byScheduler, 2)); got != "[ADDED d DELETED d]" {
		t.Errorf("by scheduler: %s", got)
	}
	manager, _ := c.watch("fieldSelector=spec.clusterManager.name%3Dm", "clusterprofiles")
	c.must(post("clusterprofiles", profileNamed("other", `,"spec":{"clusterManager":{"name":"o"}}`)))
	c.must(post("clusterprofiles", profileNamed("mine", managed)))
	if got := next(t, manager).String(); got != "ADDED mine" {
		t.Errorf("by manager: %s", got)
	}
	for selector, want := range map[string]int{"spec.clusterManager.name%3Dm": 1, "spec.clusterManager.name!%3Dm": 1, "metadata.name%3Dother": 1, "metadata.name%3Dnone": 0} {
		if got := len(c.must(get("clusterprofiles?fieldSelector=" + selector)).field("items").([]any)); got != want {
			t.Errorf("%s: %d objects, want %d", selector, got, want)
		}
	}
}

// TestResume resumes from each kind of resourceVersion, with the events or the refusal that a custom resource gives (cases.md, 35).
func TestResume(t *testing.T) {
	const n = 602
	c := newCaller(t, hub.AdminConfig(), ours, newNamespace(t), "v1alpha2")
	var versions []string
	for i := range n {
		versions = append(versions, c.must(post("placementdecisions", decisionNamed(fmt.Sprint("d", i), `,"decisions":[]`))).versionOf().(string))
	}
	listVersion := c.must(get("placementdecisions")).versionOf().(string)
	type resumed struct {
		version string
		want    int
		events  <-chan event
	}
	watches := []resumed{{version: listVersion}, {version: versions[n-3], want: 2}, {version: "0", want: n}, {version: "", want: n}}
	for range 100 { // Who comes back a hundred times gets nothing twice.
		watches = append(watches, resumed{version: listVersion})
	}
	for i := range watches {
		events, code := c.watch("resourceVersion="+watches[i].version, "placementdecisions")
		if code != http.StatusOK {
			t.Fatalf("from %q: %d", watches[i].version, code)
		}
		watches[i].events = events
		take(t, events, watches[i].want)
	}
	// What comes next at each is what is written next, and nothing that it has had.
	c.must(post("placementdecisions", decisionNamed("mark", `,"decisions":[]`)))
	for _, w := range watches {
		if e := next(t, w.events); e.String() != "ADDED mark" {
			t.Errorf("from %q: after %d events came %s", w.version, w.want, e)
		}
	}
	both := newPair(t, c.namespace, "v1alpha2")
	for _, version := range []string{"abc", "-1", "1.5", "%20"} {
		both.agree(t, "watch "+version, get("placementdecisions?watch=true&timeoutSeconds=1&resourceVersion="+version))
		both.agree(t, "list "+version, get("placementdecisions?resourceVersion="+version))
	}
	if a := c.do(get("placementdecisions?resourceVersionMatch=NotOlderThan&resourceVersion=99999999")); a.code != http.StatusGatewayTimeout || !strings.Contains(a.status.Message, "Too large resource version") {
		t.Errorf("list far ahead: %s %s", a.summary(), a.status.Message)
	}
}

// TestPaging joins pages with a selector, and refuses tokens that are not its own (cases.md, 37).
func TestPaging(t *testing.T) {
	both := newPair(t, newNamespace(t), "v1alpha2")
	for i := range 35 {
		both.must(post("placementdecisions", fmt.Sprintf(`{"apiVersion":"GROUP/VERSION","kind":"PlacementDecision","metadata":{"name":"d%02d","labels":{"fifth":"%t"}},"decisions":[]}`, i, i%7 == 0)))
	}
	for _, selector := range []string{"", "&labelSelector=fifth%3Dtrue"} {
		var names []string
		token := ""
		for page := 0; page == 0 || token != ""; page++ {
			a := both.ours.must(get("placementdecisions?limit=3" + selector + "&continue=" + token))
			for _, item := range a.field("items").([]any) {
				names = append(names, fmt.Sprint(item.(map[string]any)["metadata"].(map[string]any)["name"]))
			}
			if selector != "" && a.field("metadata", "remainingItemCount") != nil {
				t.Errorf("remainingItemCount with a selector: %v", a.field("metadata"))
			}
			token, _ = a.field("metadata", "continue").(string)
		}
		want := 35
		if selector != "" {
			want = 5
		}
		if len(names) != want || len(unique(names)) != want {
			t.Errorf("%q: pages hold %v", selector, names)
		}
	}
	first := both.ours.must(get("placementdecisions?limit=3"))
	if first.field("metadata", "remainingItemCount") != float64(32) {
		t.Errorf("remainingItemCount %v", first.field("metadata", "remainingItemCount"))
	}
	token := first.field("metadata", "continue").(string)
	for _, path := range []string{"placementdecisions?limit=3&continue=nonsense", "placementdecisions?limit=3&resourceVersion=1&continue=" + token} {
		if a := both.ours.do(get(path)); a.code != http.StatusBadRequest {
			t.Errorf("%s: %s", path, a.summary())
		}
	}
}

func unique(names []string) map[string]bool {
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	return set
}
