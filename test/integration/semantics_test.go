package integration

import (
	"fmt"
	"strings"
	"testing"
)

// versionOf and generationOf are what an answer says of its object.
func (a answer) versionOf() any    { return a.field("metadata", "resourceVersion") }
func (a answer) generationOf() any { return a.field("metadata", "generation") }

func get(path string) request { return request{method: "GET", path: path} }

func patch(path, body string) request {
	return request{method: "PATCH", path: path, contentType: mergePatch, body: body}
}

// put returns a PUT of the object of an answer after an edit of its JSON.
func put(path string, a answer, edit ...string) request {
	return request{method: "PUT", path: path, contentType: jsonType, body: strings.NewReplacer(edit...).Replace(string(a.raw))}
}

// TestWhatAWriteMayChange holds spec, status and metadata apart, on both servers, for each way to write.
func TestWhatAWriteMayChange(t *testing.T) {
	for _, version := range []string{"v1alpha1", "v1alpha2"} {
		both := newPair(t, newNamespace(t), version)
		both.must(post("clusterprofiles", profileNamed("a", managed)))
		both.must(patchStatus("a", `{"version":{"kubernetes":"v1.36.0"},"conditions":[]}`))
		for _, c := range []caller{both.ours, both.twin} {
			t.Run(version+" "+c.group, func(t *testing.T) {
				steps := []struct {
					name                  string
					write                 func(before answer) request
					changes, newVersion   bool // the object, and so its resourceVersion
					generation            int  // how much it moves
					wantSpec, wantVersion string
					wantLabel             any
				}{
					{name: "status by the main resource", write: func(answer) request {
						return patch("clusterprofiles/a", `{"status":{"version":{"kubernetes":"v9"}}}`)
					}},
					{name: "spec and metadata by status", write: func(answer) request {
						return patch("clusterprofiles/a/status", `{"metadata":{"labels":{"x":"y"},"annotations":{"x":"y"},"finalizers":["x.example.com/f"]},"spec":{"displayName":"new"}}`)
					}},
					{name: "PUT of what is there", write: func(a answer) request { return put("clusterprofiles/a", a) }},
					{name: "PUT of what is there to status", write: func(a answer) request { return put("clusterprofiles/a/status", a) }},
					{name: "empty merge patch", write: func(answer) request { return patch("clusterprofiles/a", `{}`) }},
					{name: "PUT of spec and status to status", newVersion: true, wantVersion: "v1.37.0", write: func(a answer) request {
						return put("clusterprofiles/a/status", a, `"v1.36.0"`, `"v1.37.0"`, `"clusterManager"`, `"displayName":"new","clusterManager"`)
					}},
					{name: "spec", newVersion: true, generation: 1, wantSpec: "A", write: func(answer) request {
						return patch("clusterprofiles/a", `{"spec":{"displayName":"A"}}`)
					}},
					{name: "label", newVersion: true, wantLabel: "y", write: func(answer) request {
						return patch("clusterprofiles/a", `{"metadata":{"labels":{"x":"y"}}}`)
					}},
				}
				for _, step := range steps {
					before := c.must(get("clusterprofiles/a"))
					after := c.must(step.write(before))
					if changed := before.versionOf() != after.versionOf(); changed != step.newVersion {
						t.Errorf("%s: resourceVersion %v → %v", step.name, before.versionOf(), after.versionOf())
					}
					if got, want := after.generationOf(), before.generationOf().(float64)+float64(step.generation); got != want {
						t.Errorf("%s: generation %v, want %v", step.name, got, want)
					}
					if got := after.field("spec", "displayName"); step.wantSpec != "" && got != step.wantSpec {
						t.Errorf("%s: displayName %v", step.name, got)
					}
					if got := after.field("status", "version", "kubernetes"); step.wantVersion != "" && got != step.wantVersion {
						t.Errorf("%s: version %v", step.name, got)
					}
					if got := after.field("metadata", "labels", "x"); step.wantLabel != nil && got != step.wantLabel {
						t.Errorf("%s: label %v", step.name, got)
					}
					if step.wantSpec == "" && fmt.Sprint(before.field("spec")) != fmt.Sprint(after.field("spec")) {
						t.Errorf("%s: spec %v → %v", step.name, before.field("spec"), after.field("spec"))
					}
				}
			})
		}
	}
}

// TestDecisionGeneration counts every change of a decision but that of its metadata, and none where nothing changed.
func TestDecisionGeneration(t *testing.T) {
	both := newPair(t, newNamespace(t), "v1alpha1")
	both.must(post("placementdecisions", decisionNamed("d", `,"decisions":`+decisionList(2))))
	for _, c := range []caller{both.ours, both.twin} {
		for _, step := range []struct {
			body       string
			generation float64
		}{
			{`{"metadata":{"labels":{"x":"y"}}}`, 1},
			{`{"schedulerName":"s"}`, 2},
			{`{"decisions":[]}`, 3},
			{`{"decisions":` + decisionList(2) + `}`, 4},
			{`{"decisions":` + decisionList(2) + `}`, 4},
		} {
			if a := c.must(patch("placementdecisions/d", step.body)); a.generationOf() != step.generation {
				t.Errorf("%s: after %s generation %v, want %v", c.group, shorten(step.body), a.generationOf(), step.generation)
			}
		}
	}
}

// TestOrderOfDecisions keeps the order of the scheduler to the byte, and takes the same content again for no change (cases.md, 19).
func TestOrderOfDecisions(t *testing.T) {
	c := newCaller(t, hub.AdminConfig(), ours, newNamespace(t), "v1alpha2")
	var refs []string
	for i := range 100 {
		refs = append(refs, fmt.Sprintf(`{"clusterProfileRef":{"name":"c%02d","namespace":"n"},"reason":"score %d"}`, (i*37)%100, i))
	}
	list := "[" + strings.Join(refs, ",") + "]"
	created := c.must(post("placementdecisions", decisionNamed("d", `,"decisions":`+list)))
	for range 2 {
		read := c.must(get("placementdecisions/d"))
		if !strings.Contains(string(read.raw), list) {
			t.Errorf("the order is not that of the scheduler: %s", shorten(string(read.raw)))
		}
		if again := c.must(put("placementdecisions/d", read)); again.versionOf() != created.versionOf() {
			t.Errorf("the same content again made resourceVersion %v of %v", again.versionOf(), created.versionOf())
		}
	}
	other := c.must(patch("placementdecisions/d", `{"decisions":[`+refs[1]+","+refs[0]+`]}`))
	if other.versionOf() == created.versionOf() || other.generationOf() != float64(2) {
		t.Errorf("another order is a change: %v, %v", other.versionOf(), other.generationOf())
	}
}

// TestVersionsKeepEachOthersFields writes by one version what the other does not have (design, section 4).
func TestVersionsKeepEachOthersFields(t *testing.T) {
	namespace := newNamespace(t)
	v1 := newCaller(t, hub.AdminConfig(), ours, namespace, "v1alpha1")
	v2 := newCaller(t, hub.AdminConfig(), ours, namespace, "v1alpha2")
	v1.must(post("clusterprofiles", profileNamed("a", managed)))
	v1.must(patchStatus("a", `{"credentialProviders":[{"name":"old","cluster":{"server":"https://a"}}],"accessProviders":[
		{"name":"kept","cluster":{"server":"https://a","certificate-authority":"/etc/ca"}},{"name":"dropped","cluster":{"server":"https://b","certificate-authority":"/etc/ca"}}]}`))
	seen := v2.must(get("clusterprofiles/a"))
	if text := string(seen.raw); strings.Contains(text, "credentialProviders\":[") || strings.Contains(text, `"certificate-authority":"`) {
		t.Errorf("v1alpha2 shows what it does not have: %s", text)
	}
	v2.must(patchStatus("a", `{"accessProviders":[{"name":"kept","cluster":{"server":"https://c"}}]}`))
	v2.must(patch("clusterprofiles/a", `{"spec":{"displayName":"A"}}`))
	v2.must(put("clusterprofiles/a/status", v2.must(get("clusterprofiles/a"))))
	v2.must(request{method: "PATCH", path: "clusterprofiles/a/status?fieldManager=f", contentType: applyPatch, body: profileNamed("a", `,"status":{"version":{"kubernetes":"v1.37.2"}}`)})
	after := v1.must(get("clusterprofiles/a"))
	if got, want := fmt.Sprint(after.field("status", "credentialProviders")), "[map[cluster:map[server:https://a] name:old]]"; got != want {
		t.Errorf("credentialProviders %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(after.field("status", "accessProviders")), "[map[cluster:map[certificate-authority:/etc/ca server:https://c] name:kept]]"; got != want {
		t.Errorf("accessProviders %s, want %s", got, want)
	}
	if got := after.field("status", "version", "kubernetes"); got != "v1.37.2" {
		t.Errorf("version %v", got)
	}
}

// TestRatcheting lets a client of v1alpha2 change what it means to, of an object that v1alpha1 let in and v1alpha2 would not, and refuses
// it to add to that.
func TestRatcheting(t *testing.T) {
	namespace := newNamespace(t)
	v1, v2 := newPair(t, namespace, "v1alpha1"), newPair(t, namespace, "v1alpha2")
	v1.must(post("clusterprofiles", profileNamed("a", `,"spec":{"clusterManager":{"name":""}}`)))
	v1.must(patchStatus("a", `{"accessProviders":[{"name":"","cluster":{"server":"","extensions":[{"name":"","extension":{}}]}}]}`))
	v1.must(post("placementdecisions", decisionNamed("d", `,"decisions":[{"clusterProfileRef":{"name":""}}]`)))
	for _, r := range []request{
		patch("clusterprofiles/a", `{"metadata":{"labels":{"x":"y"}}}`),
		patch("clusterprofiles/a", `{"spec":{"displayName":"A"}}`),
		patchStatus("a", `{"version":{"kubernetes":"v1.37.2"}}`),
		patchStatus("a", `{"properties":[{"name":"","value":"v"}]}`),
		patch("placementdecisions/d", `{"metadata":{"labels":{"x":"y"}}}`),
	} {
		v2.agree(t, r.path+" "+r.body, r)
	}
	if a := v2.ours.do(patch("clusterprofiles/a", `{"spec":{"displayName":"B"}}`)); a.code != 200 {
		t.Errorf("%s", a.raw)
	}
}

// TestDeprecationWarning tells writers of the former field so, and only them.
func TestDeprecationWarning(t *testing.T) {
	c := newCaller(t, hub.AdminConfig(), ours, newNamespace(t), "v1alpha1")
	c.must(post("clusterprofiles", profileNamed("a", managed)))
	if a := c.must(patchStatus("a", `{"credentialProviders":[{"name":"p"}]}`)); len(a.warnings) != 1 || !strings.Contains(a.warnings[0], "use status.accessProviders") {
		t.Errorf("warnings %q", a.warnings)
	}
	if a := c.must(patchStatus("a", `{"credentialProviders":null,"accessProviders":[{"name":"p"}]}`)); len(a.warnings) != 0 {
		t.Errorf("warnings %q", a.warnings)
	}
}

// TestDiscovery wants the verbs of the custom resources, and short names and a category beside.
func TestDiscovery(t *testing.T) {
	for _, version := range []string{"v1alpha1", "v1alpha2"} {
		found := map[string]map[string]string{}
		for _, group := range []string{ours, twin} {
			c := newCaller(t, hub.AdminConfig(), group, "default", version)
			found[group] = map[string]string{}
			for _, entry := range c.must(get("/apis/GROUP/VERSION")).field("resources").([]any) {
				resource := entry.(map[string]any)
				verbs := fmt.Sprint(resource["verbs"])
				found[group][resource["name"].(string)] = verbs
				if group == ours && !strings.Contains(resource["name"].(string), "/") {
					if fmt.Sprint(resource["categories"]) != "[multicluster]" || fmt.Sprint(resource["shortNames"]) == "<nil>" || resource["singularName"] == "" {
						t.Errorf("%s %v: %v", version, resource["name"], resource)
					}
				}
			}
		}
		if fmt.Sprint(sortedVerbs(found[ours])) != fmt.Sprint(sortedVerbs(found[twin])) {
			t.Errorf("%s\nours %v\ntwin %v", version, found[ours], found[twin])
		}
	}
}

func sortedVerbs(resources map[string]string) map[string]map[string]bool {
	sets := map[string]map[string]bool{}
	for name, verbs := range resources {
		sets[name] = map[string]bool{}
		for _, verb := range strings.Fields(strings.Trim(verbs, "[]")) {
			sets[name][verb] = true
		}
	}
	return sets
}

// TestDeleteCollection deletes what matches, answers with it, and leaves the rest (cases.md, 2).
func TestDeleteCollection(t *testing.T) {
	both := newPair(t, newNamespace(t), "v1alpha2")
	for i := range 6 {
		labels := fmt.Sprintf(`{"apiVersion":"GROUP/VERSION","kind":"PlacementDecision","metadata":{"name":"d%d","labels":{"k":"v%d"}},"decisions":[]}`, i, i%2)
		both.must(post("placementdecisions", labels))
	}
	for _, c := range []caller{both.ours, both.twin} {
		if a := c.do(request{method: "DELETE", path: "placementdecisions?labelSelector=k%3Dv0&dryRun=All"}); a.code != 200 || len(a.field("items").([]any)) != 3 {
			t.Errorf("%s: dry run: %d %s", c.group, a.code, shorten(string(a.raw)))
		}
		if a := c.must(request{method: "DELETE", path: "placementdecisions?labelSelector=k%3Dv0"}); len(a.field("items").([]any)) != 3 {
			t.Errorf("%s: %s", c.group, shorten(string(a.raw)))
		}
		if left := c.must(get("placementdecisions")).field("items").([]any); len(left) != 3 {
			t.Errorf("%s: %d left", c.group, len(left))
		}
	}
	for _, selector := range []string{"metadata.namespace%3Delsewhere", "spec.x%3Dy"} {
		both.agree(t, selector, request{method: "DELETE", path: "placementdecisions?fieldSelector=" + selector})
	}
	if left := both.ours.must(get("placementdecisions")).field("items").([]any); len(left) != 3 {
		t.Errorf("%d left", len(left))
	}
}
