package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// Content types of writes.
const (
	jsonType   = "application/json"
	yamlType   = "application/yaml"
	mergePatch = "application/merge-patch+json"
	jsonPatch  = "application/json-patch+json"
	applyPatch = "application/apply-patch+yaml"
	strategic  = "application/strategic-merge-patch+json"
)

// Groups: ours, and the same schema as a custom resource on the same hub.
const (
	ours = "multicluster.x-k8s.io"
	twin = "twin.binnacle.dev"
)

// request is one call of the API. In path and body, GROUP, NS and V stand for the group, namespace and version.
type request struct {
	method, path, contentType, accept, body string
}

// answer is what came back.
type answer struct {
	code     int
	header   http.Header
	raw      []byte
	object   map[string]any
	status   metav1.Status
	warnings []string
}

// caller sends requests to one group in one namespace and version.
type caller struct {
	t                         *testing.T
	client                    *http.Client
	url                       string
	group, namespace, version string
}

func newCaller(t *testing.T, config *rest.Config, group, namespace, version string) caller {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return caller{t, client, config.Host, group, namespace, version}
}

// placeholder is a whole word, since a token that goes on with a list may have any letters in it.
var placeholder = regexp.MustCompile(`\b(GROUP|NS|VERSION)\b`)

func (c caller) expand(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(word string) string {
		return map[string]string{"GROUP": c.group, "NS": c.namespace, "VERSION": c.version}[word]
	})
}

// do sends a request. A path without a leading slash is below the namespace.
func (c caller) do(r request) answer {
	c.t.Helper()
	path := c.expand(r.path)
	if !strings.HasPrefix(path, "/") {
		path = fmt.Sprintf("/apis/%s/%s/namespaces/%s/%s", c.group, c.version, c.namespace, path)
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), requestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.method, c.url+path, strings.NewReader(c.expand(r.body)))
	if err != nil {
		c.t.Fatal(err)
	}
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	if r.accept == "" {
		r.accept = jsonType
	}
	req.Header.Set("Accept", r.accept)
	resp, err := c.client.Do(req)
	if err != nil {
		c.t.Fatalf("%s %s: %v", r.method, path, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatalf("%s %s: %v", r.method, path, err)
	}
	a := answer{code: resp.StatusCode, header: resp.Header, raw: raw}
	for _, warning := range resp.Header.Values("Warning") {
		if _, text, ok := strings.Cut(warning, `"`); ok {
			a.warnings = append(a.warnings, strings.TrimSuffix(text, `"`))
		}
	}
	if json.Unmarshal(raw, &a.object) == nil && a.object["kind"] == "Status" {
		_ = json.Unmarshal(raw, &a.status)
	}
	return a
}

// must sends a request that has to succeed.
func (c caller) must(r request) answer {
	c.t.Helper()
	a := c.do(r)
	if a.code/100 != 2 {
		c.t.Fatalf("%s %s of %s: %d %s", r.method, r.path, c.group, a.code, a.raw)
	}
	return a
}

// causes lists what an answer says is wrong, as reason and field, in order and each once. What a custom resource says of rules that it
// could not check because of other errors is left out.
func (a answer) causes() []string {
	var causes []string
	if a.status.Details == nil {
		return nil
	}
	for _, cause := range a.status.Details.Causes {
		if cause.Field != "<nil>" {
			causes = append(causes, fmt.Sprintf("%s %s", cause.Type, cause.Field))
		}
	}
	slices.Sort(causes)
	return slices.Compact(causes)
}

// summary is what two servers that agree have in common: the code, the reason and the causes.
func (a answer) summary() string {
	return fmt.Sprintf("%d %s %v", a.code, a.status.Reason, a.causes())
}

// field returns a value inside the object of an answer, nil where it is absent.
func (a answer) field(path ...string) any {
	var value any = a.object
	for _, key := range path {
		members, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = members[key]
	}
	return value
}

// content is the object of an answer without what differs from server to server: the group, identity, versions and times.
func (a answer) content(c caller) string {
	object := map[string]any{}
	_ = json.Unmarshal(a.raw, &object)
	if metadata, ok := object["metadata"].(map[string]any); ok {
		for _, key := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "namespace"} {
			delete(metadata, key)
		}
	}
	object["apiVersion"] = strings.ReplaceAll(fmt.Sprint(object["apiVersion"]), c.group, "GROUP")
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetIndent("", " ")
	_ = encoder.Encode(object)
	return out.String()
}

// pair is the two groups side by side, through the hub, in one namespace.
type pair struct{ ours, twin caller }

func newPair(t *testing.T, namespace, version string) pair {
	t.Helper()
	return pair{newCaller(t, hub.AdminConfig(), ours, namespace, version), newCaller(t, hub.AdminConfig(), twin, namespace, version)}
}

// compare sends a request to both and fails where they do not agree. It returns our answer.
func (p pair) compare(t *testing.T, r request) answer {
	t.Helper()
	mine, theirs := p.ours.do(r), p.twin.do(r)
	if mine.summary() != theirs.summary() {
		t.Errorf("%s %s %s\nours: %s\n      %s\ntwin: %s\n      %s", r.method, r.path, shorten(r.body), mine.summary(), shorten(mine.status.Message), theirs.summary(), shorten(theirs.status.Message))
	} else if mine.code/100 == 2 && mine.content(p.ours) != theirs.content(p.twin) {
		t.Errorf("%s %s %s\nours: %s\ntwin: %s", r.method, r.path, shorten(r.body), mine.content(p.ours), theirs.content(p.twin))
	}
	if !slices.Equal(mine.warnings, theirs.warnings) {
		t.Errorf("%s %s: warnings\nours: %q\ntwin: %q", r.method, r.path, mine.warnings, theirs.warnings)
	}
	return mine
}

// must sends a request to both, where it has to succeed.
func (p pair) must(r request) {
	p.ours.t.Helper()
	p.ours.must(r)
	p.twin.must(r)
}

func shorten(text string) string {
	if len(text) > 500 {
		return text[:500] + "…"
	}
	return text
}
