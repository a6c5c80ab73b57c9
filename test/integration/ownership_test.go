package integration

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// alwaysThere takes out of a custom resource's owners that somebody owns a struct which a Go type always has. As for a built-in kind, it
// is there before the first write.
var alwaysThere = strings.NewReplacer(`"f:spec":{".":{},`, `"f:spec":{`, `"f:clusterManager":{".":{},`, `"f:clusterManager":{`)

// TestOwnership writes labels, spec and status at once, by every way and through every path, and wants each manager to own what the write
// took, as for a custom resource, and nothing of what it left (apiserver-guide G3).
func TestOwnership(t *testing.T) {
	const whole = `"metadata":{"name":"NAME","labels":{"l":"1"}},"spec":{"displayName":"d","clusterManager":{"name":"m"}},` +
		`"status":{"version":{"kubernetes":"v1"},"properties":[{"name":"p","value":"1"}]}`
	const decision = `"metadata":{"name":"NAME","labels":{"l":"1"}},"schedulerName":"s","decisions":[{"clusterProfileRef":{"name":"c"},"reason":"r"}]`
	kinds := []struct {
		kind, resource, first, second string
		paths                         []string
	}{
		{"ClusterProfile", "clusterprofiles", profileNamed("NAME", managed), whole, []string{"", "/status"}},
		{"PlacementDecision", "placementdecisions", decisionNamed("NAME", `,"decisions":[]`), decision, []string{""}},
	}
	ways := []struct {
		name  string
		write func(path, body string, existing answer) request
	}{
		{"update", func(path, body string, existing answer) request {
			var object map[string]any
			if err := json.Unmarshal([]byte(body), &object); err != nil {
				panic(err)
			}
			object["metadata"].(map[string]any)["resourceVersion"] = existing.versionOf()
			data, err := json.Marshal(object)
			if err != nil {
				panic(err)
			}
			return request{method: "PUT", path: path + "?fieldManager=two", contentType: jsonType, body: string(data)}
		}},
		{"merge patch", func(path, body string, _ answer) request {
			return request{method: "PATCH", path: path + "?fieldManager=two", contentType: mergePatch, body: body}
		}},
		{"apply", func(path, body string, _ answer) request { return applyAs("two", path, body) }},
		{"apply by force", func(path, body string, _ answer) request {
			r := applyAs("two", path, body)
			r.path += "&force=true"
			return r
		}},
	}
	for _, version := range []string{"v1alpha1", "v1alpha2"} {
		both := newPair(t, newNamespace(t), version)
		for _, kind := range kinds {
			for _, path := range kind.paths {
				for i, way := range ways {
					t.Run(fmt.Sprint(version, " ", way.name, " of ", kind.resource, path), func(t *testing.T) {
						name := fmt.Sprintf("o-%d-%d", i, len(path))
						both := both
						both.ours.t, both.twin.t = t, t
						body := `{"apiVersion":"GROUP/VERSION","kind":"` + kind.kind + `",` + kind.second + `}`
						results := map[string]answer{}
						for _, c := range []caller{both.ours, both.twin} {
							created := post(kind.resource+"?fieldManager=one", strings.ReplaceAll(kind.first, "NAME", name))
							existing := c.must(created)
							results[c.group] = c.do(way.write(kind.resource+"/"+name+path, c.expand(strings.ReplaceAll(body, "NAME", name)), existing))
						}
						mine, theirs := results[ours], results[twin]
						if mine.code != theirs.code {
							t.Fatalf("ours: %s\ntwin: %s", mine.summary(), theirs.summary())
						}
						if mine.code/100 != 2 {
							return // A conflict names what the other owns.
						}
						if a, b := mine.owners(t, ours), alwaysThere.Replace(theirs.owners(t, twin)); a != b || a == "" {
							t.Errorf("owners\nours: %s\ntwin: %s", a, b)
						}
						if a, b := mine.content(both.ours), theirs.content(both.twin); a != b {
							t.Errorf("content\nours: %s\ntwin: %s", a, b)
						}
					})
				}
			}
		}
	}
}
