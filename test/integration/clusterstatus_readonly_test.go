package integration

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	binnacleapi "github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// testStatusReadOnly sends every verb that the kind does not have, and wants it neither done nor advertised in any form of discovery
// (cases.md, 8).
func testStatusReadOnly(t *testing.T, f fleet) {
	f.add("a")
	before := f.status("a")
	const object = `{"apiVersion":"GROUP/VERSION","kind":"ClusterStatus","metadata":{"name":"a"},"status":{"phase":"Ready"}}`
	for _, path := range []string{"clusterstatuses/a", "clusterstatuses/a/report", "clusterstatuses/none"} {
		for _, r := range []request{
			{method: http.MethodPut, path: path, contentType: jsonType, body: object},
			{method: http.MethodPatch, path: path, contentType: mergePatch, body: `{"metadata":{"labels":{"x":"y"}}}`},
			{method: http.MethodPatch, path: path, contentType: jsonPatch, body: `[]`},
			{method: http.MethodPatch, path: path + "?fieldManager=f", contentType: applyPatch, body: object},
			{method: http.MethodPatch, path: path, contentType: strategic, body: `{}`},
			{method: http.MethodDelete, path: path},
		} {
			wantNotAllowed(t, f.statuses, r)
		}
	}
	for _, r := range []request{post("clusterstatuses", object), post("clusterstatuses?dryRun=All", object), {method: http.MethodDelete, path: "clusterstatuses"}, post("clusterstatuses/a", object)} {
		wantNotAllowed(t, f.statuses, r)
	}
	if a := f.statuses.do(get("clusterstatuses/a/status")); a.code != http.StatusNotFound {
		t.Errorf("status as a subresource: %d", a.code)
	}
	if after := f.status("a"); after.versionOf() != before.versionOf() {
		t.Errorf("something was changed: %s", after.raw)
	}
	want := resources{"v1alpha1 clusterstatuses": {"get", "list", "watch"}, "v1alpha1 clusterstatuses/report": {"create", "get"},
		"v1alpha1 rollouts": {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}, "v1alpha1 rollouts/preview": {"get"}}
	for _, verb := range binnacleapi.RolloutVerbs {
		want["v1alpha1 rollouts/"+string(verb)] = []string{"create"}
	}
	got := map[string]resources{"legacy": legacyDiscovery(f.statuses), "aggregated": aggregatedDiscovery(f.statuses)}
	for _, entry := range f.statuses.must(get("/apis/GROUP/VERSION")).field("resources").([]any) {
		r := entry.(map[string]any)
		switch r["name"] {
		case "clusterstatuses":
			if r["kind"] != "ClusterStatus" || r["singularName"] != "clusterstatus" || fmt.Sprint(r["shortNames"], r["categories"], r["namespaced"]) != "[cst] [multicluster] true" {
				t.Errorf("discovery says %v", r)
			}
		case "clusterstatuses/report":
			if r["kind"] != "ClusterReport" || r["namespaced"] != true {
				t.Errorf("discovery says %v", r)
			}
		}
	}
	for form, found := range got {
		if diff := cmp.Diff(want, found); diff != "" {
			t.Errorf("%s (-want +got):\n%s", form, diff)
		}
	}
}

func wantNotAllowed(t *testing.T, c caller, r request) {
	t.Helper()
	if a := c.do(r); a.code != http.StatusMethodNotAllowed || a.status.Reason != "MethodNotAllowed" {
		t.Errorf("%s %s %s: %d %s", r.method, r.path, r.contentType, a.code, shorten(strings.TrimSpace(string(a.raw))))
	}
}

// testStatusExplained wants a description of every field in the schema that kubectl explain reads, and of nothing less than the whole kind
// (cases.md, 3).
func testStatusExplained(t *testing.T, f fleet) {
	_, document := document(t, f.statuses, "/openapi/v3/apis/binnacle.dev/v1alpha1")
	wantReferences(t, "binnacle.dev", document)
	kinds, fields := 0, 0
	for name, schema := range document["components"].(map[string]any)["schemas"].(map[string]any) {
		if !strings.HasPrefix(name, "dev.binnacle.") {
			continue
		}
		model := schema.(map[string]any)
		if model["description"] == nil {
			t.Errorf("%s has no description", name)
		}
		if model["x-kubernetes-group-version-kind"] != nil {
			kinds++
		}
		properties, _ := model["properties"].(map[string]any)
		for property, value := range properties {
			fields++
			if text, _ := value.(map[string]any)["description"].(string); text == "" {
				t.Errorf("%s.%s has no description", name, property)
			}
		}
	}
	if kinds < 3 || fields < 40 {
		t.Errorf("only %d kinds and %d fields are described", kinds, fields)
	}
}
