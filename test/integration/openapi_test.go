package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// ourVersions are the groups and versions that have a document of ours.
var ourVersions = []string{"multicluster.x-k8s.io/v1alpha1", "multicluster.x-k8s.io/v1alpha2", "binnacle.dev/v1alpha1"}

// document reads an OpenAPI document of a hub or a server.
func document(t *testing.T, c caller, path string) ([]byte, map[string]any) {
	t.Helper()
	raw := c.must(request{method: http.MethodGet, path: path}).raw
	var parsed map[string]any
	if err := json.Unmarshal(raw, &parsed); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return raw, parsed
}

// TestOpenAPIOfTheHub registers us on a hub and compares its documents before and after: nothing is changed or renamed, what is added is
// ours, and every reference leads somewhere (apiserver-guide D9, D10).
func TestOpenAPIOfTheHub(t *testing.T) {
	own, err := framework.StartHub(t.Context(), framework.HubOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = own.Stop() })
	c := newCaller(t, own.AdminConfig(), ours, "", "v1alpha2")
	_, before := document(t, c, "/openapi/v2")
	server, err := own.StartBinnacle(t.Context(), framework.ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var raw []byte
	var after map[string]any
	eventually(t, "our paths in the document of the hub", func() bool {
		raw, after = document(t, c, "/openapi/v2")
		return bytes.Contains(raw, []byte("/apis/multicluster.x-k8s.io/v1alpha1/")) && bytes.Contains(raw, []byte("/apis/multicluster.x-k8s.io/v1alpha2/")) && bytes.Contains(raw, []byte("/apis/binnacle.dev/v1alpha1/"))
	})
	for _, part := range []string{"definitions", "paths"} {
		old, now := before[part].(map[string]any), after[part].(map[string]any)
		for name, value := range old {
			if diff := cmp.Diff(value, withoutOurKinds(now[name])); diff != "" {
				t.Errorf("%s %s (-before +after):\n%s", part, name, diff)
			}
		}
		for name := range now {
			// Duration is of the API machinery, and no kind of the hub's own has one.
			isOurs := slices.ContainsFunc([]string{"io.x-k8s.multicluster.", "dev.binnacle.", "io.k8s.apimachinery.pkg.apis.meta.v1.Duration", "/apis/multicluster.x-k8s.io/", "/apis/binnacle.dev/"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
			if _, ok := old[name]; !ok && !isOurs {
				t.Errorf("%s: %s has come with us", part, name)
			}
		}
	}
	wantReferences(t, "/openapi/v2", after)
	for _, gv := range ourVersions {
		path := "/openapi/v3/apis/" + gv
		throughHub, parsed := document(t, c, path)
		wantReferences(t, path, parsed)
		wantKinds(t, path, parsed)
		direct, _ := document(t, newCaller(t, server.ConfigFor("admin", framework.AdminGroup), "", "", ""), path)
		if !bytes.Equal(throughHub, direct) {
			t.Errorf("%s of the hub is not ours", path)
		}
	}
}

// withoutOurKinds takes our group out of where a model of the API machinery says in which groups it is used.
func withoutOurKinds(model any) any {
	const key = "x-kubernetes-group-version-kind"
	fields, _ := model.(map[string]any)
	if entries, ok := fields[key].([]any); ok {
		fields[key] = slices.DeleteFunc(entries, func(entry any) bool {
			return entry.(map[string]any)["group"] == ours || entry.(map[string]any)["group"] == ownGroup
		})
	}
	return model
}

// wantReferences wants each $ref to name something in the document.
func wantReferences(t *testing.T, path string, document map[string]any) {
	t.Helper()
	count := 0
	var walk func(any)
	walk = func(node any) {
		switch n := node.(type) {
		case map[string]any:
			if ref, ok := n["$ref"].(string); ok {
				count++
				var at any = document
				for _, step := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
					inside, _ := at.(map[string]any)
					at = inside[step]
				}
				if at == nil {
					t.Errorf("%s refers to %s, which it does not have", path, ref)
				}
			}
			for _, value := range n {
				walk(value)
			}
		case []any:
			for _, value := range n {
				walk(value)
			}
		}
	}
	walk(document)
	if count < 10 {
		t.Errorf("%s has only %d references", path, count)
	}
}

// wantKinds wants the group, version and kind at the model of each kind, without which neither kubectl explain nor apply finds it.
func wantKinds(t *testing.T, path string, document map[string]any) {
	t.Helper()
	var kinds []string
	for name, model := range document["components"].(map[string]any)["schemas"].(map[string]any) {
		if strings.ContainsAny(name, "/~") {
			t.Errorf("%s: a model is called %s", path, name)
		}
		entries, _ := model.(map[string]any)["x-kubernetes-group-version-kind"].([]any)
		for _, entry := range entries {
			if gvk := entry.(map[string]any); strings.HasPrefix(name, "io.x-k8s.") && gvk["group"] == ours || strings.HasPrefix(name, "dev.binnacle.") && gvk["group"] == ownGroup {
				kinds = append(kinds, fmt.Sprint(gvk["kind"]))
			}
		}
	}
	slices.Sort(kinds)
	want := []string{"ClusterProfile", "ClusterProfileList", "PlacementDecision", "PlacementDecisionList"}
	if strings.Contains(path, ownGroup) {
		want = []string{"ClusterReport", "ClusterStatus", "ClusterStatusList", "Rollout", "RolloutAction", "RolloutFeedback", "RolloutList", "RolloutPreview"}
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// TestOpenAPIIsTheSameEachTime compares the documents and discovery of two servers byte by byte. A hub that sees others merges all of
// its documents anew (apiserver-guide D24).
func TestOpenAPIIsTheSameEachTime(t *testing.T) {
	first, second := startStandalone(t, framework.ServerOptions{}), startStandalone(t, framework.ServerOptions{})
	for _, path := range []string{"/openapi/v2", "/openapi/v3", "/openapi/v3/apis/multicluster.x-k8s.io/v1alpha1", "/openapi/v3/apis/multicluster.x-k8s.io/v1alpha2", "/openapi/v3/apis/binnacle.dev/v1alpha1"} {
		one, two := standaloneCaller(t, first).must(request{method: http.MethodGet, path: path}), standaloneCaller(t, second).must(request{method: http.MethodGet, path: path})
		if !bytes.Equal(one.raw, two.raw) || one.header.Get("Etag") != two.header.Get("Etag") || one.header.Get("Etag") == "" {
			t.Errorf("%s differs: etags %q and %q", path, one.header.Get("Etag"), two.header.Get("Etag"))
		}
	}
	aggregated := request{method: http.MethodGet, path: "/apis", accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
	one, two := standaloneCaller(t, first).must(aggregated), standaloneCaller(t, second).must(aggregated)
	if !bytes.Equal(one.raw, two.raw) || one.header.Get("Etag") != two.header.Get("Etag") || one.header.Get("Etag") == "" {
		t.Errorf("discovery differs: etags %q and %q", one.header.Get("Etag"), two.header.Get("Etag"))
	}
}
