package integration

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func applyAs(manager, path, body string) request {
	return request{method: "PATCH", path: path + "?fieldManager=" + manager, contentType: applyPatch, body: body}
}

// TestApply is server-side apply by several managers, on both servers step by step (cases.md, 6; upstream-apis.md, 1.4).
func TestApply(t *testing.T) {
	for _, version := range []string{"v1alpha1", "v1alpha2"} {
		t.Run(version, func(t *testing.T) {
			both := newPair(t, newNamespace(t), version)
			status := func(body string) string { return profileNamed("a", `,"status":`+body) }
			at := `"reason":"R","message":"","lastTransitionTime":"2026-01-02T03:04:05Z"`
			steps := []request{
				applyAs("spec", "clusterprofiles/a", profileNamed("a", managed)),
				applyAs("spec", "clusterprofiles/a", profileNamed("a", managed+`,"status":{"version":{"kubernetes":"v9"}}`)),
				applyAs("one", "clusterprofiles/a/status", status(`{"properties":[{"name":"p1","value":"1"}],"conditions":[{"type":"A","status":"True",`+at+`}]}`)),
				applyAs("two", "clusterprofiles/a/status", status(`{"properties":[{"name":"p2","value":"2","lastObservedTime":"2026-01-02T03:04:05.5Z"}],"conditions":[{"type":"B","status":"False",`+at+`}]}`)),
				applyAs("two", "clusterprofiles/a/status", status(`{"properties":[{"name":"p1","value":"other"}]}`)), // conflict
				applyAs("two", "clusterprofiles/a/status", status(`{"properties":[{"name":"p1","value":"1"}]}`)),     // same value, shared; gives p2 and B up
				applyAs("one", "clusterprofiles/a/status", status(`{"properties":[{"name":"p1","value":"1"}],"conditions":[{"type":"A","status":"True",`+at+`}]}`)),
				applyAs("one", "clusterprofiles/a/status", status(`{"properties":[{"name":"p1"}]}`)),
				applyAs("one", "clusterprofiles/a/status", status(`{"accessProviders":[{"name":"p","cluster":{"server":"https://a","certificate-authority-data":"Q0E=","extensions":[{"name":"e","extension":{"k":[1,{"x":null}]}}]}}]}`)),
				applyAs("two", "clusterprofiles/a/status", status(`{"accessProviders":[{"name":"q","cluster":{"server":"https://b"}}]}`)),
				applyAs("two", "clusterprofiles/a/status", status(`{"accessProviders":[{"name":"p","cluster":{"server":"https://b"}}]}`)),
				applyAs("meta", "clusterprofiles/a/status", profileNamed("a", `,"spec":{"displayName":"x"},"status":{"version":{"kubernetes":"v1"}}`)),
				applyAs("spec", "clusterprofiles/new", profileNamed("new", `,"spec":{"displayName":"x"}`)),
				applyAs("spec", "clusterprofiles/none/status", profileNamed("none", `,"status":{}`)),
				applyAs("s1", "placementdecisions/d", decisionNamed("d", `,"decisions":`+decisionList(2))),
				applyAs("s2", "placementdecisions/d", decisionNamed("d", `,"decisions":`+decisionList(3))),
				applyAs("s2", "placementdecisions/d", decisionNamed("d", `,"schedulerName":"s2"`)),
				applyAs("s1", "placementdecisions/d", decisionNamed("d", `,"decisions":[]`)),
				applyAs("s1", "placementdecisions/d", decisionNamed("d", ``)),
				applyAs("", "placementdecisions/d", decisionNamed("d", `,"decisions":[]`)),
			}
			for i, step := range steps {
				mine, theirs := both.ours.do(step), both.twin.do(step)
				if !agreeOnApply(mine, theirs) {
					t.Errorf("step %d %s\nours: %s %s\ntwin: %s %s", i, step.body, mine.summary(), shorten(mine.status.Message), theirs.summary(), shorten(theirs.status.Message))
				}
				if mine.code/100 == 2 && theirs.code/100 == 2 {
					if a, b := mine.content(both.ours), theirs.content(both.twin); a != b {
						t.Errorf("step %d content\nours: %s\ntwin: %s", i, a, b)
					}
					if a, b := mine.owners(t, ours), theirs.owners(t, twin); a != b {
						t.Errorf("step %d owners\nours: %s\ntwin: %s", i, a, b)
					}
				}
			}
		})
	}
}

// agreeOnApply is agreement but for one thing: where a required struct is left out we name the field inside that it must have. What is
// merged no longer tells a struct that was left out from an empty one.
func agreeOnApply(mine, theirs answer) bool {
	if mine.code != theirs.code || mine.status.Reason != theirs.status.Reason || len(mine.causes()) != len(theirs.causes()) {
		return false
	}
	for i, cause := range theirs.causes() {
		if mine.causes()[i] != cause && !strings.HasPrefix(mine.causes()[i], cause+".") {
			return false
		}
	}
	return true
}

// owners lists which manager owns which fields through which resource.
func (a answer) owners(t *testing.T, group string) string {
	t.Helper()
	entries, _ := a.field("metadata", "managedFields").([]any)
	var lines []string
	for _, entry := range entries {
		e := entry.(map[string]any)
		fields, err := json.Marshal(e["fieldsV1"])
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprint(e["manager"], " ", e["operation"], " ", e["subresource"], " ", strings.ReplaceAll(fmt.Sprint(e["apiVersion"]), group, "GROUP"), " ", string(fields)))
	}
	slices.Sort(lines) // The server puts them in the order of their times, which are whole seconds.
	return strings.Join(lines, "\n")
}

// TestApplyOfTheSame changes nothing: no new resourceVersion, no event.
func TestApplyOfTheSame(t *testing.T) {
	c := newCaller(t, hub.AdminConfig(), ours, newNamespace(t), "v1alpha2")
	c.must(applyAs("m", "clusterprofiles/a", profileNamed("a", managed)))
	body := profileNamed("a", `,"status":{"properties":[{"name":"p","value":"1","lastObservedTime":"2026-01-02T03:04:05.25Z"}],"accessProviders":[{"name":"x","cluster":{"server":"https://a"}}]}`)
	first := c.must(applyAs("m", "clusterprofiles/a/status", body))
	for range 3 {
		if again := c.must(applyAs("m", "clusterprofiles/a/status", body)); again.versionOf() != first.versionOf() {
			t.Errorf("resourceVersion %v → %v", first.versionOf(), again.versionOf())
		}
	}
	// Bad text in a format is refused with its path, not with 500.
	for _, bad := range []string{`{"properties":[{"name":"p","value":"1","lastObservedTime":"x"}]}`, `{"conditions":[{"type":"A","status":"True","reason":"R","message":"","lastTransitionTime":"x"}]}`,
		`{"accessProviders":[{"name":"x","cluster":{"server":"https://a","certificate-authority-data":"%"}}]}`} {
		if a := c.do(applyAs("m", "clusterprofiles/a/status", profileNamed("a", `,"status":`+bad))); a.code != 422 || len(a.causes()) != 1 {
			t.Errorf("%s: %s", bad, a.summary())
		}
	}
}
