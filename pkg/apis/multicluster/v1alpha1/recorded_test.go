package v1alpha1

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	upstream "sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"
)

// recorded returns what the upstream client's encoder wrote, by file name and without the white space that makes the files readable
// (../testdata/README.md).
func recorded(t *testing.T) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("../testdata/*.v1alpha1.json")
	if err != nil {
		t.Fatal(err)
	}
	// A pattern that finds nothing would pass every test below.
	if len(paths) < 20 {
		t.Fatalf("only %d recorded files", len(paths))
	}
	files := map[string][]byte{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var wire bytes.Buffer
		if err := json.Compact(&wire, data); err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(path)] = wire.Bytes()
	}
	return files
}

func strictJSON(t *testing.T, add ...func(*runtime.Scheme) error) runtime.Serializer {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, f := range add {
		if err := f(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, scheme, scheme, kjson.SerializerOptions{Strict: true})
}

// reencode decodes JSON strictly into our types, and encodes it again.
func reencode(t *testing.T, data []byte) []byte {
	t.Helper()
	codec := strictJSON(t, addKnownTypes)
	obj, _, err := codec.Decode(data, nil, nil)
	if err != nil {
		t.Fatalf("decoding: %v", err)
	}
	var wire bytes.Buffer
	if err := codec.Encode(obj, &wire); err != nil {
		t.Fatalf("encoding: %v", err)
	}
	return wire.Bytes()
}

func parsed(t *testing.T, data []byte) any {
	t.Helper()
	// Numbers stay text: one of the recorded ones fits no Go number.
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// withoutNulls returns a value without the null members of its objects, which kube-apiserver prunes from a custom resource. What stands
// inside an extension is somebody else's.
func withoutNulls(value any) any {
	switch typed := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, member := range typed {
			if key == "extension" && member != nil {
				kept[key] = member
			} else if member != nil {
				kept[key] = withoutNulls(member)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(typed))
		for i := range typed {
			kept[i] = withoutNulls(typed[i])
		}
		return kept
	}
	return value
}

// leaveOut removes from an upstream encoding what ours leaves out: nulls, a status or a version without content, and the empty list of
// conditions, the only empty list that upstream writes beside decisions and items.
func leaveOut(value any) any {
	object := withoutNulls(value).(map[string]any)
	objects := []any{object}
	if items, ok := object["items"].([]any); ok {
		objects = append(objects, items...)
	}
	for _, each := range objects {
		status, ok := each.(map[string]any)["status"].(map[string]any)
		if !ok {
			continue
		}
		if conditions, ok := status["conditions"].([]any); ok && len(conditions) == 0 {
			delete(status, "conditions")
		}
		if version, ok := status["version"].(map[string]any); ok && len(version) == 0 {
			delete(status, "version")
		}
		if len(status) == 0 {
			delete(each.(map[string]any), "status")
		}
	}
	return object
}

// TestRecordedKeepsEverything compares our encoding of what the upstream client sends with what it sent.
func TestRecordedKeepsEverything(t *testing.T) {
	exact := 0
	for name, sent := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			ours := reencode(t, sent)
			want, got := leaveOut(parsed(t, sent)), withoutNulls(parsed(t, ours))
			// An empty list that stands alone in the status keeps the object around it until the object is stored.
			if name == "clusterprofile_empty_conditions.v1alpha1.json" || name == "clusterprofile_empty_lists.v1alpha1.json" {
				want.(map[string]any)["status"] = map[string]any{}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("(-recorded +ours):\n%s", diff)
			}
			if cmp.Equal(want, parsed(t, sent)) {
				exact++
				if diff := cmp.Diff(string(sent), string(bytes.TrimSpace(ours))); diff != "" {
					t.Errorf("bytes (-recorded +ours):\n%s", diff)
				}
			}
		})
	}
	if exact < 5 {
		t.Errorf("only %d files were compared byte by byte", exact)
	}
}

// TestRecordedMeansTheSameUpstream lets the upstream types read our encoding.
func TestRecordedMeansTheSameUpstream(t *testing.T) {
	codec := strictJSON(t, upstream.AddToScheme)
	decode := func(t *testing.T, data []byte) runtime.Object {
		t.Helper()
		obj, _, err := codec.Decode(data, nil, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		return obj
	}
	// The empty list of conditions is left out; decisions must stay as they are.
	emptyConditions := cmp.FilterValues(func(a, b []metav1.Condition) bool { return len(a)+len(b) == 0 }, cmp.Ignore())
	for name, sent := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(decode(t, sent), decode(t, reencode(t, sent)), emptyConditions); diff != "" {
				t.Errorf("(-recorded +ours):\n%s", diff)
			}
		})
	}
}

// TestZeroValuesOnTheWire pins what is written for objects that say next to nothing: where a custom resource would have no key, ours has
// none.
func TestZeroValuesOnTheWire(t *testing.T) {
	text := func(s string) *string { return &s }
	tests := []struct {
		name string
		obj  any
		want string
	}{
		{"profile", ClusterProfile{}, `{"metadata":{},"spec":{"clusterManager":{}}}`},
		{"profile with empty manager", ClusterProfile{Spec: ClusterProfileSpec{ClusterManager: ClusterManager{Name: text("")}}},
			`{"metadata":{},"spec":{"clusterManager":{"name":""}}}`},
		{"version alone", ClusterProfileStatus{Version: ClusterVersion{Kubernetes: "v1.37.2"}}, `{"version":{"kubernetes":"v1.37.2"}}`},
		{"conditions alone", ClusterProfileStatus{Conditions: []metav1.Condition{}}, `{}`},
		{"property without time", Property{Name: "a", Value: "b"}, `{"name":"a","value":"b"}`},
		{"provider without cluster", AccessProvider{Name: text("a")}, `{"name":"a"}`},
		{"provider with empty cluster", AccessProvider{Name: text("a"), Cluster: &Cluster{}}, `{"name":"a","cluster":{}}`},
		{"provider with empty server", AccessProvider{Name: text("a"), Cluster: &Cluster{Server: text("")}}, `{"name":"a","cluster":{"server":""}}`},
		{"decision", PlacementDecision{}, `{"metadata":{},"decisions":null}`},
		{"decision for nothing", PlacementDecision{Decisions: ClusterDecisions{}}, `{"metadata":{},"decisions":[]}`},
		{"reference with empty namespace", ClusterProfileReference{Name: text("a"), Namespace: text("")}, `{"name":"a","namespace":""}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := json.Marshal(test.obj)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
