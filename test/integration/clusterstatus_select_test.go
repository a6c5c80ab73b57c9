package integration

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// namespaceOf is a namespace for a test where namespaces need not be made.
func namespaceOf(t *testing.T) string {
	t.Helper()
	name := strings.ToLower(t.Name())
	return strings.NewReplacer("/", "-", "_", "-", " ", "-").Replace(name[strings.LastIndex(name, "/")+1:])
}

// testStatusSelectors lists by everything that a selector may name (cases.md, 2).
func testStatusSelectors(t *testing.T, f fleet) {
	f.profiles.must(post("clusterprofiles", strings.Replace(profileNamed("ready", managed), `"name":"ready"`, `"name":"ready","labels":{"tier":"gold"}`, 1)))
	f.profiles.must(post("clusterprofiles", profileNamed("broken", `,"spec":{"clusterManager":{"name":"other"}}`)))
	f.add("new")
	f.report("ready", rarely+`,"kubernetesVersion":"v1.37.2"`)
	f.report("broken", rarely+`,"kubernetesVersion":"v1.36.0","conditions":[{"type":"ControlPlaneHealthy","status":"False","reason":"Down"}]`)
	f.untilPhase("ready", "Ready")
	f.untilPhase("broken", "NotReady")
	for selector, want := range map[string][]string{
		"": {"broken", "new", "ready"}, "labelSelector=tier%3Dgold": {"ready"}, "labelSelector=!tier": {"broken", "new"}, "labelSelector=tier%3Dnone": nil,
		"fieldSelector=metadata.name%3Dready": {"ready"}, "fieldSelector=metadata.name%3Dnone": nil,
		"fieldSelector=metadata.namespace%3D" + f.namespace: {"broken", "new", "ready"}, "fieldSelector=metadata.namespace%3Delsewhere": nil,
		"fieldSelector=status.phase%3DReady": {"ready"}, "fieldSelector=status.phase!%3DReady": {"broken", "new"}, "fieldSelector=status.phase%3DUnknown": {"new"},
		"fieldSelector=status.kubernetesVersion%3Dv1.36.0": {"broken"}, "fieldSelector=status.kubernetesVersion%3D": {"new"},
		"fieldSelector=status.clusterManager%3Dother": {"broken"}, "fieldSelector=spec.clusterManager.name%3Dm": {"new", "ready"},
		"fieldSelector=status.phase%3DReady,status.clusterManager%3Dother": nil, "fieldSelector=status.phase%3DReady&labelSelector=tier%3Dgold": {"ready"},
	} {
		if diff := cmp.Diff(want, f.names(selector)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", selector, diff)
		}
	}
	all := f.statuses.must(get("/apis/GROUP/VERSION/clusterstatuses?fieldSelector=metadata.namespace%3D" + f.namespace + ",status.phase%3DReady"))
	if got := fmt.Sprint(namesOf(all)); got != "[ready]" {
		t.Errorf("in all namespaces: %s", got)
	}
	for _, bad := range []string{"fieldSelector=spec.x%3Dy", "fieldSelector=status.nodes.total%3D1", "fieldSelector=status.phase", "labelSelector=%3D%3D"} {
		for _, watch := range []string{"", "&watch=true&timeoutSeconds=1"} {
			a := f.statuses.do(get("clusterstatuses?" + bad + watch))
			if a.code != http.StatusBadRequest || a.status.Reason != "BadRequest" {
				t.Errorf("%s%s: %d %s", bad, watch, a.code, shorten(string(a.raw)))
			}
		}
	}
}

// testStatusSelectorsOnWatch turns leaving and entering a selector into DELETED and ADDED, whoever made the change: a report, or whoever
// writes the profile (cases.md, 2).
func testStatusSelectorsOnWatch(t *testing.T, f fleet) {
	f.add("a", "b")
	byPhase, _ := f.statuses.watch("fieldSelector=status.phase%3DReady", "clusterstatuses")
	byLabel, _ := f.statuses.watch("labelSelector=tier%3Dgold", "clusterstatuses")
	byName, _ := f.statuses.watch("fieldSelector=metadata.name%3Db", "clusterstatuses")
	if e := next(t, byName); e.String() != "ADDED b" {
		t.Errorf("by name: %s", e)
	}
	f.report("a", rarely)
	f.untilPhase("a", "Ready")
	f.report("a", rarely+`,"conditions":[{"type":"Ready","status":"False"}]`)
	f.untilPhase("a", "NotReady")
	f.report("a", rarely)
	got := take(t, byPhase, 3)
	if text := fmt.Sprint(got); text != "[ADDED a DELETED a ADDED a]" {
		t.Errorf("by phase: %s", text)
	}
	for i := 1; i < len(got); i++ {
		if got[i].metadata()["resourceVersion"] == got[i-1].metadata()["resourceVersion"] {
			t.Errorf("two events of one resourceVersion: %v", got)
		}
	}
	for _, label := range []string{"gold", "silver", "gold"} {
		f.profiles.must(patch("clusterprofiles/a", fmt.Sprintf(`{"metadata":{"labels":{"tier":%q}}}`, label)))
	}
	f.profiles.must(request{method: http.MethodDelete, path: "clusterprofiles/a"})
	if text := fmt.Sprint(take(t, byLabel, 4)); text != "[ADDED a DELETED a ADDED a DELETED a]" {
		t.Errorf("by label: %s", text)
	}
	f.profiles.must(patch("clusterprofiles/b", `{"metadata":{"labels":{"tier":"gold"}}}`))
	if e := next(t, byName); e.String() != "MODIFIED b" {
		t.Errorf("by name: %s", e)
	}
}
