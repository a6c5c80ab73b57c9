package integration

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	cbor "k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha2"
	ourscheme "github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned/scheme"
	"github.com/binnacle-dev/binnacle/test/framework"
)

var updateTable = flag.Bool("update", false, "write docs/reference/content-types.md anew")

// encoding is a form in which a body is sent or an answer asked for.
type encoding struct{ name, mediaType string }

var (
	bodies = []encoding{{"JSON", jsonType}, {"YAML", yamlType}, {"protobuf", runtime.ContentTypeProtobuf}, {"CBOR", runtime.ContentTypeCBOR}}
	// answers is bodies, and what servers make of objects.
	answers = append(slices.Clone(bodies),
		encoding{"Table", "application/json;as=Table;v=v1;g=meta.k8s.io"},
		encoding{"metadata", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"},
		encoding{"list of metadata", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"},
		encoding{"metadata in protobuf", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"})
	patches = []encoding{{"JSON patch", jsonPatch}, {"merge patch", mergePatch}, {"strategic merge", strategic}, {"apply in YAML", applyPatch}, {"apply in CBOR", "application/apply-patch+cbor"}}
)

// subject is a kind that is put through the table.
type subject struct {
	kind   schema.GroupVersionKind
	plural string
	codecs serializer.CodecFactory
	// object makes one of a name.
	object func(name string) runtime.Object
	// status says that there is a status subresource.
	status bool
}

func (s subject) String() string { return s.kind.Version + " " + s.plural }

// subjects are every kind of ours in every version, and a built-in kind to compare with.
func subjects() (own []subject, builtIn subject) {
	manager := "m"
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Labels: map[string]string{"table": name}}
	}
	add := func(version, kind, plural string, status bool, object func(string) runtime.Object) {
		own = append(own, subject{schema.GroupVersionKind{Group: ours, Version: version, Kind: kind}, plural, ourscheme.Codecs, object, status})
	}
	add("v1alpha1", "ClusterProfile", "clusterprofiles", true, func(name string) runtime.Object {
		return &v1alpha1.ClusterProfile{ObjectMeta: meta(name), Spec: v1alpha1.ClusterProfileSpec{ClusterManager: v1alpha1.ClusterManager{Name: &manager}}}
	})
	add("v1alpha2", "ClusterProfile", "clusterprofiles", true, func(name string) runtime.Object {
		return &v1alpha2.ClusterProfile{ObjectMeta: meta(name), Spec: v1alpha2.ClusterProfileSpec{ClusterManager: v1alpha2.ClusterManager{Name: &manager}}}
	})
	add("v1alpha1", "PlacementDecision", "placementdecisions", false, func(name string) runtime.Object {
		return &v1alpha1.PlacementDecision{ObjectMeta: meta(name), Decisions: v1alpha1.ClusterDecisions{}}
	})
	add("v1alpha2", "PlacementDecision", "placementdecisions", false, func(name string) runtime.Object {
		return &v1alpha2.PlacementDecision{ObjectMeta: meta(name), Decisions: v1alpha2.ClusterDecisions{}}
	})
	own = append(own, rolloutSubject)
	return own, subject{policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), "poddisruptionbudgets", scheme.Codecs, func(name string) runtime.Object {
		return &policyv1.PodDisruptionBudget{ObjectMeta: meta(name)}
	}, true}
}

// encode writes an object in one of bodies.
func (s subject) encode(t *testing.T, object runtime.Object, mediaType string) string {
	t.Helper()
	object.GetObjectKind().SetGroupVersionKind(s.kind)
	var buffer bytes.Buffer
	if mediaType == runtime.ContentTypeCBOR {
		if err := cbor.NewSerializer(ourscheme.Scheme, ourscheme.Scheme).Encode(object, &buffer); err != nil {
			t.Fatal(err)
		}
		return buffer.String()
	}
	info, ok := runtime.SerializerInfoForMediaType(s.codecs.SupportedMediaTypes(), mediaType)
	if !ok {
		t.Fatalf("%s cannot be written", mediaType)
	}
	if err := s.codecs.EncoderForVersion(info.Serializer, s.kind.GroupVersion()).Encode(object, &buffer); err != nil {
		t.Fatal(err)
	}
	return buffer.String()
}

// table holds what was answered, by row and column.
type table map[string]map[string]string

// fill asks everything of one kind.
func (s subject) fill(t *testing.T, c caller) table {
	found := table{}
	number := 0
	fresh := func() string {
		number++
		name := fmt.Sprint("o", number)
		c.must(post(s.plural, s.encode(t, s.object(name), jsonType)))
		return name
	}
	// record sends a request and writes down its answer.
	record := func(verb, column string, r request) {
		if found[verb] == nil {
			found[verb] = map[string]string{}
		}
		found[verb][column] = cell(c.do(r), r.accept)
	}
	paths := map[string]string{"": ""}
	if s.status {
		paths["/status"] = "/status"
	}
	for _, e := range answers {
		of := "answer in " + e.name
		name := fresh()
		record("list", of, request{method: http.MethodGet, path: s.plural + "?labelSelector=table%3D" + name, accept: e.mediaType})
		record("watch", of, request{method: http.MethodGet, path: s.plural + "?watch=true&timeoutSeconds=1&labelSelector=table%3D" + name, accept: e.mediaType})
		created := s.object("created-" + strings.ToLower(strings.ReplaceAll(e.name, " ", "-")))
		record("create", of, request{method: http.MethodPost, path: s.plural, contentType: jsonType, body: s.encode(t, created, jsonType), accept: e.mediaType})
		for sub, path := range paths {
			at := s.plural + "/" + name + path
			record("get"+sub, of, request{method: http.MethodGet, path: at, accept: e.mediaType})
			record("update"+sub, of, request{method: http.MethodPut, path: at, contentType: jsonType, body: string(c.must(get(at)).raw), accept: e.mediaType})
			record("patch"+sub, of, request{method: http.MethodPatch, path: at, contentType: mergePatch, body: `{"metadata":{"annotations":{"a":"b"}}}`, accept: e.mediaType})
		}
		record("delete", of, request{method: http.MethodDelete, path: s.plural + "/" + name, accept: e.mediaType})
		record("deletecollection", of, request{method: http.MethodDelete, path: s.plural + "?labelSelector=table%3D" + fresh(), accept: e.mediaType})
	}
	for _, e := range bodies {
		in := "body in " + e.name
		record("create", in, request{method: http.MethodPost, path: s.plural, contentType: e.mediaType, body: s.encode(t, s.object("body-"+strings.ToLower(e.name)), e.mediaType)})
		name := fresh()
		for sub, path := range paths {
			at := s.plural + "/" + name + path
			object := s.object(name)
			object.(metav1.Object).SetResourceVersion(fmt.Sprint(c.must(get(at)).versionOf()))
			record("update"+sub, in, request{method: http.MethodPut, path: at, contentType: e.mediaType, body: s.encode(t, object, e.mediaType)})
		}
	}
	for _, e := range patches {
		name := fresh()
		for sub, path := range paths {
			body := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"annotations":{"a":"b"}}}`, s.kind.GroupVersion(), s.kind.Kind, name)
			if e.mediaType == jsonPatch {
				body = `[{"op":"add","path":"/metadata/annotations","value":{"a":"b"}}]`
			}
			record("patch"+sub, "as "+e.name, request{method: http.MethodPatch, path: s.plural + "/" + name + path + "?fieldManager=table", contentType: e.mediaType, body: body})
		}
	}
	return found
}

// cell is an answer in a word: yes where it succeeded in the type that was asked for, or the status code.
func cell(a answer, accept string) string {
	if a.code/100 != 2 {
		return fmt.Sprint(a.code)
	}
	if accept == "" {
		return "yes"
	}
	asked, _, _ := strings.Cut(accept, ";")
	given, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	if asked != given {
		return given
	}
	if _, kind, ok := strings.Cut(accept, "as="); ok && asked == jsonType {
		kind, _, _ = strings.Cut(kind, ";")
		// A watch wraps what was asked for in its events.
		if !strings.Contains(string(a.raw), `"kind":"`+kind+`"`) {
			return "the object"
		}
	}
	return "yes"
}

// exceptions are where our kinds answer otherwise than the built-in kind, and why.
var exceptions = map[string]string{
	"as strategic merge": "415", // as a custom resource: upstream's clients have no merge keys for these kinds
}

// TestConformance fills a table of verb × content type for every kind and version, holds it against a built-in kind's, and against the one
// in docs (apiserver-guide G10; -update writes it anew).
func TestConformance(t *testing.T) {
	own, builtIn := subjects()
	namespace := newNamespace(t)
	want := builtIn.fill(t, newCaller(t, hub.AdminConfig(), builtIn.kind.Group, namespace, builtIn.kind.Version))
	all := map[string]table{}
	for _, s := range own {
		namespace := newNamespace(t)
		found := s.fill(t, newCaller(t, hub.AdminConfig(), s.kind.Group, namespace, s.kind.Version))
		all[s.String()] = found
		for verb, columns := range found {
			for column, got := range columns {
				expected, excepted := exceptions[column]
				if !excepted {
					expected = want[verb][column]
				}
				if got != expected {
					t.Errorf("%s: %s, %s: %s; the built-in kind: %s", s, verb, column, got, expected)
				}
			}
		}
	}
	status := hubFleet(t).fillStatus(t)
	all[statusSubject.String()] = status
	checkVerbs(t, fillVerbs(t, all[rolloutSubject.String()]), want)
	checkStatus(t, status, want)
	checkAllVerbs(t, all)
	checkPublishedTable(t, all)
}

// checkAllVerbs wants a row for each verb that discovery names.
func checkAllVerbs(t *testing.T, all map[string]table) {
	t.Helper()
	for _, gv := range [][2]string{{ours, "v1alpha1"}, {ours, "v1alpha2"}, {ownGroup, "v1alpha1"}} {
		version := gv[1]
		c := newCaller(t, hub.AdminConfig(), gv[0], "default", version)
		for _, entry := range c.must(get("/apis/GROUP/VERSION")).field("resources").([]any) {
			resource := entry.(map[string]any)
			name, sub, nested := strings.Cut(resource["name"].(string), "/")
			for _, verb := range resource["verbs"].([]any) {
				row := verb.(string)
				if nested {
					row += "/" + sub
				}
				if all[version+" "+name][row] == nil {
					t.Errorf("%s of %s %s is in no row of the table", row, version, name)
				}
			}
		}
	}
}

// checkPublishedTable compares with docs.
func checkPublishedTable(t *testing.T, all map[string]table) {
	t.Helper()
	root, err := framework.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "docs", "reference", "content-types.md")
	text := render(all)
	if *updateTable {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	published, err := os.ReadFile(path)
	if err != nil || string(published) != text {
		t.Errorf("docs/reference/content-types.md is not what the server does (%v); write it with: go test ./test/integration -run TestConformance -update", err)
	}
}

// render writes the table as a page. Rows that are equal in all versions of a kind stand once.
func render(all map[string]table) string {
	var b strings.Builder
	b.WriteString("# Content types\n\nWhat each verb takes and answers. Written by `go test ./test/integration -run TestConformance -update`, which asks for every cell, in every\n" +
		"version, through a hub; and held against a built-in kind of that hub, from which only the strategic merge patch differs.\n\n" +
		"A number is the status code of a refusal: 406 for an answer, 415 for a body. *The object* means that the form which was asked for does not\nfit what the verb answers, such as a Status, and that this is answered as it is.\n")
	columns := func(prefix string, encodings []encoding) (names []string) {
		for _, e := range encodings {
			names = append(names, prefix+e.name)
		}
		return names
	}
	for _, section := range []struct {
		title   string
		columns []string
	}{
		{"Answers", columns("answer in ", answers)}, {"Bodies", columns("body in ", bodies)}, {"Patches", columns("as ", patches)},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n| kind | verb |", section.title)
		for _, column := range section.columns {
			for _, prefix := range []string{"answer in ", "body in ", "as "} {
				column = strings.TrimPrefix(column, prefix)
			}
			fmt.Fprintf(&b, " %s |", column)
		}
		b.WriteString("\n|" + strings.Repeat("---|", len(section.columns)+2) + "\n")
		for _, kind := range []string{"clusterprofiles", "placementdecisions", "clusterstatuses", "rollouts"} {
			one, two := all["v1alpha1 "+kind], all["v1alpha2 "+kind]
			if two == nil { // The kind has one version.
				two = one
			}
			for _, verb := range slices.Sorted(maps.Keys(one)) {
				line := func(t table) string {
					var cells []string
					for _, column := range section.columns {
						cells = append(cells, t[verb][column])
					}
					return strings.Join(cells, " | ")
				}
				switch {
				case strings.Trim(line(one), "| ") == "":
				case line(one) == line(two):
					fmt.Fprintf(&b, "| %s | %s | %s |\n", kind, verb, line(one))
				default:
					fmt.Fprintf(&b, "| %s v1alpha1 | %s | %s |\n| %s v1alpha2 | %s | %s |\n", kind, verb, line(one), kind, verb, line(two))
				}
			}
		}
	}
	return b.String()
}
