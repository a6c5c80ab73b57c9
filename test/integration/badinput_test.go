package integration

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// fullStatus has a value in every field of the status.
const fullStatus = `{
 "version":{"kubernetes":"v1.37.2"},
 "conditions":[{"type":"ControlPlaneHealthy","status":"True","reason":"Ready","message":"fine","lastTransitionTime":"2026-01-02T03:04:05Z","observedGeneration":1}],
 "properties":[{"name":"location","value":"fra","lastObservedTime":"2026-01-02T03:04:05Z"}],
 "accessProviders":[{"name":"kubeconfig","cluster":{"server":"https://api.example.com:6443","tls-server-name":"api","insecure-skip-tls-verify":true,
  "certificate-authority-data":"Q0E=","proxy-url":"http://proxy.example.com","disable-compression":true,
  "extensions":[{"name":"client.authentication.k8s.io/exec","extension":{"cluster":"x"}}]}}]}`

// withFormat are the fields whose text has a format.
var withFormat = []string{"lastTransitionTime", "lastObservedTime", "certificate-authority-data"}

// onlyV1alpha1 are the fields that v1alpha2 does not have.
const onlyV1alpha1 = `{"credentialProviders":[{"name":"old","cluster":{"server":"https://api.example.com","certificate-authority":"/etc/ca.crt"}}]}`

const fullSpec = `{"displayName":"Frankfurt","clusterManager":{"name":"m"}}`

const fullDecision = `{"schedulerName":"s","decisions":[{"clusterProfileRef":{"name":"c","namespace":"n"},"reason":"close"}]}`

// wrong are values of every JSON type, tried in every field; the field's own type is among them.
var wrong = []any{nil, "", "text", 5, -1, 1.5, true, []any{}, []any{"x"}, map[string]any{}, map[string]any{"x": 1}}

// mutation is a document with one value exchanged.
type mutation struct {
	path string
	body string
}

// mutate exchanges each value inside a document, in turn, by each of the wrong ones, and leaves it out once.
func mutate(t *testing.T, document string) []mutation {
	t.Helper()
	var root any
	if err := json.Unmarshal([]byte(document), &root); err != nil {
		t.Fatal(err)
	}
	var mutations []mutation
	record := func(path string, value any) {
		body, err := json.Marshal(root)
		if err != nil {
			t.Fatal(err)
		}
		shown, _ := json.Marshal(value)
		mutations = append(mutations, mutation{path + "=" + string(shown), string(body)})
	}
	var walk func(path string, value any, set func(any))
	walk = func(path string, value any, set func(any)) {
		if path != "" {
			for _, w := range wrong {
				set(w)
				record(path, w)
			}
			set(value)
		}
		switch typed := value.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(typed)) {
				member := typed[key]
				walk(strings.TrimPrefix(path+"."+key, "."), member, func(v any) { typed[key] = v })
				delete(typed, key)
				record(path+"."+key, "(left out)")
				typed[key] = member
			}
		case []any:
			for i := range typed {
				walk(fmt.Sprintf("%s[%d]", path, i), typed[i], func(v any) { typed[i] = v })
			}
		}
	}
	walk("", root, nil)
	return mutations
}

// TestBadInput sends every JSON type in every field of every kind and version, as a new object and as a merge patch, and wants what the
// custom resource of the same schema answers: code, reason, and the path of each field that is wrong.
func TestBadInput(t *testing.T) {
	for _, version := range []string{"v1alpha1", "v1alpha2"} {
		t.Run(version, func(t *testing.T) {
			both := newPair(t, newNamespace(t), version)
			both.must(post("clusterprofiles", profileNamed("a", `,"spec":`+fullSpec)))
			statuses := []string{fullStatus}
			if version == "v1alpha1" {
				statuses = append(statuses, onlyV1alpha1)
			}
			for _, status := range statuses {
				for _, m := range mutate(t, status) {
					r := patchStatus("a", m.body)
					r.path += "?dryRun=All"
					both.agree(t, "status."+m.path, r)
				}
			}
			for _, m := range mutate(t, `{"spec":`+fullSpec+`}`) {
				both.agree(t, m.path, post("clusterprofiles?dryRun=All", profileNamed("new", members(m.body))))
			}
			for _, m := range mutate(t, fullDecision) {
				both.agree(t, m.path, post("placementdecisions?dryRun=All", decisionNamed("new", members(m.body))))
			}
		})
	}
}

// TestLimits sends text and lists at each limit and just past it, and wants the custom resource's answer.
func TestLimits(t *testing.T) {
	text := func(n int) string { return strings.Repeat("x", n) }
	accept := func(cluster string) string {
		return `{"accessProviders":[{"name":"p","cluster":` + cluster + `}]}`
	}
	server := func(s string) string { return accept(fmt.Sprintf(`{"server":%q}`, s)) }
	proxy := func(s string) string { return accept(fmt.Sprintf(`{"server":"https://a","proxy-url":%q}`, s)) }
	condition := func(key, value string) string {
		c := map[string]string{"type": "T", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z"}
		c[key] = value
		body, err := json.Marshal([]any{c})
		if err != nil {
			t.Fatal(err)
		}
		return `{"conditions":` + string(body) + `}`
	}
	property := func(name, value string) string {
		return fmt.Sprintf(`{"properties":[{"name":%q,"value":%q}]}`, name, value)
	}
	statuses := []string{
		property(text(253), "v"), property(text(254), "v"), property("n", text(1024)), property("n", text(1025)), property("N/a b", "\t"),
		condition("type", text(316)), condition("type", text(317)), condition("type", "example.com/T"), condition("type", "a b"), condition("type", "/T"),
		condition("status", "true"), condition("status", "Unknown"),
		condition("reason", text(1024)), condition("reason", text(1025)), condition("reason", "1"), condition("reason", "A,B:C"), condition("reason", "A-B"),
		condition("message", text(32768)), condition("message", text(32769)),
		condition("lastTransitionTime", "2026-01-02"), condition("lastTransitionTime", "2026-01-02T03:04:05+01:00"),
		accept(fmt.Sprintf(`{"server":"https://a","tls-server-name":%q}`, text(253))), accept(fmt.Sprintf(`{"server":"https://a","tls-server-name":%q}`, text(254))),
		server("https://" + text(2040)), server("https://" + text(2041)), server("https://api.example.com:6443"), server("api.example.com"), server("/path"), server("https://"),
		server("https:///path"), server("https://[::1]:6443/x?y#z"), server("mailto:x@example.com"), server("https://a b"),
		proxy(""), proxy("http://p"), proxy("socks5://p:1080"), proxy("ftp://p"), proxy("http://"), proxy("p:80"), proxy("HTTP://p"),
		`{"accessProviders":[{"name":"` + text(253) + `","cluster":{"server":"https://a"}}]}`, `{"accessProviders":[{"name":"` + text(254) + `","cluster":{"server":"https://a"}}]}`,
		accept(`{"server":"https://a","extensions":[{"name":"` + text(253) + `","extension":{}}]}`), accept(`{"server":"https://a","extensions":[{"name":"` + text(254) + `","extension":{}}]}`),
		accept(`{"server":"https://a","extensions":[{"name":"e","extension":{}},{"name":"e","extension":{}}]}`),
		providers(64), providers(65),
	}
	for _, version := range []string{"v1alpha1", "v1alpha2"} {
		t.Run(version, func(t *testing.T) {
			both := newPair(t, newNamespace(t), version)
			both.must(post("clusterprofiles", profileNamed("a", managed)))
			for _, status := range statuses {
				r := patchStatus("a", status)
				r.path += "?dryRun=All"
				both.agree(t, shorten(status), r)
			}
			for _, name := range []string{"", "m", text(63), text(64), "a.b_c-d", "-a", "a b", "ä"} {
				both.agree(t, "manager "+name, post("clusterprofiles?dryRun=All", profileNamed("new", fmt.Sprintf(`,"spec":{"clusterManager":{"name":%q}}`, name))))
			}
			for _, ref := range []string{`{"name":"a.b"}`, `{"name":"A"}`, `{"name":"` + text(253) + `"}`, `{"name":"` + text(254) + `"}`, `{"name":"a","namespace":"n"}`, `{"name":"a","namespace":""}`,
				`{"name":"a","namespace":"a.b"}`, `{"name":"a","namespace":"` + text(63) + `"}`, `{"name":"a","namespace":"` + text(64) + `"}`} {
				both.agree(t, ref, post("placementdecisions?dryRun=All", decisionNamed("new", `,"decisions":[{"clusterProfileRef":`+ref+`}]`)))
			}
			for _, n := range []int{0, 1, 100, 101} {
				both.agree(t, fmt.Sprint(n, " decisions"), post("placementdecisions?dryRun=All", decisionNamed("new", `,"decisions":`+decisionList(n))))
			}
		})
	}
}

func providers(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"name":"p%d","cluster":{"server":"https://a"}}`, i)
	}
	return `{"accessProviders":[` + strings.Join(list, ",") + `]}`
}

// members returns the members of a JSON object, each with a comma before it.
func members(object string) string {
	inner := strings.TrimSuffix(strings.TrimPrefix(object, "{"), "}")
	if inner == "" {
		return ""
	}
	return "," + inner
}

// agree fails where the two servers do not give the same code and reason, and name the same fields. Either may give a second cause for
// a field, and a custom resource one for what holds the field as well.
func (p pair) agree(t *testing.T, what string, r request) {
	t.Helper()
	mine, theirs := p.ours.do(r), p.twin.do(r)
	if path, value, _ := strings.Cut(what, "="); slices.ContainsFunc(withFormat, func(f string) bool { return strings.HasSuffix(path, "."+f) }) && strings.HasPrefix(value, "[") {
		// The validator of custom resources lets an array pass for text that has a format. Nobody could read it back; we refuse it.
		if want := "422 Invalid [FieldValueTypeInvalid " + path + "]"; mine.summary() != want {
			t.Errorf("%s\ngot %s\nwant %s", what, mine.summary(), want)
		}
		return
	}
	if mine.code != theirs.code || mine.status.Reason != theirs.status.Reason || !sameCauses(mine.causes(), theirs.causes()) {
		t.Errorf("%s\nours: %s\n      %s\ntwin: %s\n      %s", what, mine.summary(), shorten(mine.status.Message), theirs.summary(), shorten(theirs.status.Message))
	}
}

// sameCauses says whether each field that one names the other names too, for one common cause at least.
func sameCauses(mine, theirs []string) bool {
	fieldOf := func(cause string) string {
		_, field, _ := strings.Cut(cause, " ")
		return field
	}
	for _, cause := range mine {
		common := func(m string) bool { return fieldOf(m) == fieldOf(cause) && slices.Contains(theirs, m) }
		if !slices.ContainsFunc(mine, common) {
			return false
		}
	}
	for _, cause := range theirs {
		named := func(m string) bool {
			return fieldOf(m) == fieldOf(cause) || strings.HasPrefix(fieldOf(m), fieldOf(cause)+".")
		}
		if !slices.ContainsFunc(mine, named) {
			return false
		}
	}
	return true
}
