package integration

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// neighbour is another kind of the same server, with objects in etcd, whose answers are right: one that is built into the hub, or one of
// ours where there is no hub.
func (f fleet) neighbour() (c caller, list string) {
	if f.config.Host == hub.URL() {
		f.profiles.must(request{method: http.MethodPost, path: "/api/v1/namespaces/NS/secrets", contentType: jsonType, body: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}`})
		return f.profiles, "/api/v1/namespaces/NS/secrets"
	}
	f.profiles.must(post("placementdecisions", decisionNamed("a", `,"decisions":[]`)))
	return f.profiles, "/apis/GROUP/VERSION/namespaces/NS/placementdecisions"
}

// testStatusVersions asks by every kind of resourceVersion, and wants what another kind of the same server answers (cases.md, 33 and 35).
func testStatusVersions(t *testing.T, f fleet) {
	const mine = "/apis/binnacle.dev/v1alpha1/namespaces/NS/clusterstatuses"
	f.add("a")
	other, theirs := f.neighbour()
	expand := func(query, version string) string {
		n, err := strconv.ParseUint(version, 10, 64)
		if err != nil {
			t.Fatalf("the version of a list is %q", version)
		}
		return strings.NewReplacer("NOW", version, "FUTURE", fmt.Sprint(n+1<<40)).Replace(query)
	}
	myVersion, theirVersion := fmt.Sprint(f.statuses.must(get(mine)).versionOf()), fmt.Sprint(other.must(get(theirs)).versionOf())
	var queries []string
	for _, version := range []string{"", "0", "abc", "-1", "1.5", "%20", "18446744073709551616", "NOW", "FUTURE"} {
		for _, match := range []string{"", "Exact", "NotOlderThan", "Sometimes"} {
			query := "resourceVersion=" + version
			if match != "" {
				query += "&resourceVersionMatch=" + match
			}
			queries = append(queries, query, query+"&limit=1")
			if version != "FUTURE" || match != "" { // Only a mixture of parameters is refused at once; the rest is below.
				queries = append(queries, query+"&watch=true&timeoutSeconds=1")
			}
		}
	}
	for _, more := range []string{
		"sendInitialEvents=true", "sendInitialEvents=maybe", "sendInitialEvents=true&resourceVersionMatch=Exact", "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=-1",
		"sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=abc", "sendInitialEvents=false&resourceVersionMatch=NotOlderThan", "sendInitialEvents=false",
		"sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=x", "resourceVersionMatch=NotOlderThan", "resourceVersionMatch=Exact", "limit=-1", "limit=abc", "timeoutSeconds=abc",
		"sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=FUTURE", "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&limit=1",
	} {
		queries = append(queries, more, more+"&watch=true&timeoutSeconds=1")
	}
	each(len(queries), 24, func(i int) {
		got, want := f.statuses.do(get(mine+"?"+expand(queries[i], myVersion))), other.do(get(theirs+"?"+expand(queries[i], theirVersion)))
		if outcome(got) != better(outcome(want)) {
			t.Errorf("%s\nours:  %s %s\nother: %s %s", queries[i], outcome(got), shorten(string(got.raw)), outcome(want), shorten(string(want.raw)))
		}
	})
	for _, version := range []string{"", "0", "abc", "-1", "NOW", "FUTURE"} {
		got, want := f.statuses.do(get(mine+"/a?resourceVersion="+expand(version, myVersion))), other.do(get(theirs+"/a?resourceVersion="+expand(version, theirVersion)))
		if outcome(got) != better(outcome(want)) {
			t.Errorf("get at %q\nours:  %s %s\nother: %s %s", version, outcome(got), shorten(string(got.raw)), outcome(want), shorten(string(want.raw)))
		}
	}
	if a := f.statuses.do(get(mine + "?resourceVersion=" + expand("FUTURE", myVersion))); a.code != http.StatusGatewayTimeout || !strings.Contains(a.status.Message, "Too large resource version") ||
		a.status.Details == nil || a.status.Details.RetryAfterSeconds < 1 {
		t.Errorf("a list far ahead: %d %s", a.code, shorten(string(a.raw)))
	}
	// One object, one event, one version: what a watch shows is what a list shows.
	listed := f.statuses.must(get(mine + "/a"))
	events, _ := f.statuses.watch("", "clusterstatuses")
	if e := next(t, events); e.metadata()["resourceVersion"] != listed.versionOf() || e.metadata()["uid"] != listed.field("metadata", "uid") {
		t.Errorf("a watch begins with %v, a get has %v", e.metadata(), listed.field("metadata"))
	}
}

// testStatusResume resumes from each version that an object had, and gets what came after it and nothing else (cases.md, 35).
func testStatusResume(t *testing.T, f fleet) {
	f.add("a")
	versions := []string{fmt.Sprint(f.status("a").versionOf())}
	for i := range 4 {
		f.profiles.must(patch("clusterprofiles/a", fmt.Sprintf(`{"metadata":{"labels":{"round":"r%d"}}}`, i)))
		versions = append(versions, fmt.Sprint(f.status("a").versionOf()))
	}
	if n := len(unique(versions)); n != len(versions) {
		t.Fatalf("%d versions of %d contents: %v", n, len(versions), versions)
	}
	f.add("mark")
	for i, version := range versions {
		events, code := f.statuses.watch("resourceVersion="+version, "clusterstatuses")
		if code != http.StatusOK {
			t.Fatalf("from %s: %d", version, code)
		}
		missed := versions[i+1:]
		for j, e := range take(t, events, len(missed)) {
			if e.String() != "MODIFIED a" || e.metadata()["resourceVersion"] != missed[j] {
				t.Errorf("after version %d came %s of %v, want %s", i, e, e.metadata()["resourceVersion"], missed[j])
			}
		}
		if e := next(t, events); e.String() != "ADDED mark" {
			t.Errorf("after version %d and %d events came %s", i, len(missed), e)
		}
		exact := f.statuses.must(get("clusterstatuses?resourceVersionMatch=Exact&resourceVersion=" + version))
		if items := exact.field("items").([]any); len(items) != 1 || exact.versionOf() != version || items[0].(map[string]any)["metadata"].(map[string]any)["resourceVersion"] != version {
			t.Errorf("the list at version %d is %s", i, shorten(string(exact.raw)))
		}
	}
}

// better is what we answer where the library has an internal error for a resourceVersion that is none: that the request is wrong.
func better(outcome string) string {
	if outcome == "500 " {
		return "400 BadRequest"
	}
	return outcome
}

// outcome is what an answer has in common with that of another kind: its code and reason, and what the first event of a watch is.
func outcome(a answer) string {
	if kind, isEvent := a.object["type"]; isEvent && a.object["kind"] == nil { // a watch of one line
		return fmt.Sprint(a.code, " ", kind, " ", a.field("object", "reason"))
	}
	first, _, several := strings.Cut(string(a.raw), "\n")
	if a.object == nil && several {
		kind, _, _ := strings.Cut(strings.TrimPrefix(first, `{"type":"`), `"`)
		return fmt.Sprint(a.code, " ", kind, "…")
	}
	return fmt.Sprint(a.code, " ", a.status.Reason)
}
