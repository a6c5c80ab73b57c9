package filters_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/apiserver"
	"github.com/binnacle-dev/binnacle/pkg/apiserver/filters"
)

const (
	ourGroup  = multicluster.GroupName
	strategic = "application/strategic-merge-patch+json"
	apply     = "application/apply-patch+yaml"
	limit     = 1000
)

var schemas resolver.SchemaResolver = resolver.NewDefinitionsSchemaResolver(apiserver.NewGenericConfig().OpenAPIConfig.GetDefinitions, apiserver.Scheme)

func isOurs(info *request.RequestInfo) bool { return info.APIGroup == ourGroup }

// reached is a handler that notes what came to it.
type reached struct {
	called bool
	body   string
	err    error
}

func (r *reached) ServeHTTP(_ http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	r.called, r.body, r.err = true, string(body), err
}

// broken is a body that fails after its content, and notes that it was closed.
type broken struct {
	io.Reader
	err    error
	closed bool
}

func (b *broken) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF && b.err != nil {
		err = b.err
	}
	return n, err
}

func (b *broken) Close() error {
	b.closed = true
	return nil
}

func patch(info request.RequestInfo, contentType string, body io.Reader) *http.Request {
	req := httptest.NewRequest(http.MethodPatch, "/apis/x", body)
	req.Header.Set("Content-Type", contentType)
	return req.WithContext(request.WithRequestInfo(req.Context(), &info))
}

// ofOurs is a patch of a profile.
var ofOurs = request.RequestInfo{IsResourceRequest: true, Verb: "patch", APIGroup: ourGroup, APIVersion: "v1alpha1", Resource: "clusterprofiles", Name: "atlas"}

func change(f func(*request.RequestInfo)) request.RequestInfo {
	info := ofOurs
	f(&info)
	return info
}

func answer(t *testing.T, recorder *httptest.ResponseRecorder) metav1.Status {
	t.Helper()
	status := metav1.Status{}
	if err := json.Unmarshal(recorder.Body.Bytes(), &status); err != nil {
		t.Fatalf("%v: %s", err, recorder.Body)
	}
	return status
}

func TestStrategicMergeIsRefused(t *testing.T) {
	tests := []struct {
		name        string
		info        request.RequestInfo
		contentType string
		refused     bool
	}{
		{"ours", ofOurs, strategic, true},
		{"ours with parameters", ofOurs, strategic + "; charset=utf-8", true},
		{"ours in capitals", ofOurs, "Application/Strategic-Merge-Patch+JSON", true},
		{"our status", change(func(i *request.RequestInfo) { i.Subresource = "status" }), strategic, true},
		{"merge patch", ofOurs, "application/merge-patch+json", false},
		{"JSON patch", ofOurs, "application/json-patch+json", false},
		{"apply", ofOurs, apply, false},
		{"no content type", ofOurs, "", false},
		{"nonsense", ofOurs, ";;;", false},
		{"another group", change(func(i *request.RequestInfo) { i.APIGroup = "apps" }), strategic, false},
		{"no resource", change(func(i *request.RequestInfo) { i.IsResourceRequest = false }), strategic, false},
		{"another verb", change(func(i *request.RequestInfo) { i.Verb = "update" }), strategic, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			next, recorder := &reached{}, httptest.NewRecorder()
			handler := filters.WithCustomResourcePatchTypes(next, apiserver.Codecs, isOurs)
			handler.ServeHTTP(recorder, patch(test.info, test.contentType, strings.NewReader(`{"a":1}`)))
			if next.called == test.refused {
				t.Fatalf("the handler was called: %v", next.called)
			}
			if !test.refused {
				if next.body != `{"a":1}` {
					t.Errorf("the handler reads %q", next.body)
				}
				return
			}
			status := answer(t, recorder)
			if recorder.Code != http.StatusUnsupportedMediaType || status.Reason != metav1.StatusReasonUnsupportedMediaType {
				t.Errorf("answer %d, %s", recorder.Code, status.Reason)
			}
			for _, accepted := range []string{"application/json-patch+json", "application/merge-patch+json", apply} {
				if !strings.Contains(status.Message, accepted) {
					t.Errorf("%q does not name %s", status.Message, accepted)
				}
			}
			if strings.Contains(status.Message, strategic) {
				t.Errorf("%q offers what was refused", status.Message)
			}
		})
	}
	t.Run("request that nobody has looked at", func(t *testing.T) {
		next := &reached{}
		req := httptest.NewRequest(http.MethodPatch, "/apis/x", nil)
		req.Header.Set("Content-Type", strategic)
		filters.WithCustomResourcePatchTypes(next, apiserver.Codecs, isOurs).ServeHTTP(httptest.NewRecorder(), req)
		if !next.called {
			t.Error("refused")
		}
	})
}

const (
	goodApply = "apiVersion: multicluster.x-k8s.io/v1alpha1\nkind: ClusterProfile\nstatus: {properties: [{name: a, value: b, lastObservedTime: '2026-11-30T12:00:00Z'}]}\n"
	badApply  = "apiVersion: multicluster.x-k8s.io/v1alpha1\nkind: ClusterProfile\n" +
		"status: {conditions: [{type: A, lastTransitionTime: x}], accessProviders: [{name: a, cluster: {certificate-authority-data: '%'}}]}\n"
)

func TestApplyBodyCheck(t *testing.T) {
	long := badApply + strings.Repeat("#", limit)
	exact := badApply + strings.Repeat("#", limit-len(badApply))
	gone := errors.New("the client is gone")
	tests := []struct {
		name        string
		info        request.RequestInfo
		contentType string
		body        string
		err         error
		refused     bool
	}{
		{name: "good", info: ofOurs, contentType: apply, body: goodApply},
		{name: "bad", info: ofOurs, contentType: apply, body: badApply, refused: true},
		{name: "bad, with parameters", info: ofOurs, contentType: apply + "; charset=utf-8", body: badApply, refused: true},
		{name: "bad, as large as allowed", info: ofOurs, contentType: apply, body: exact, refused: true},
		{name: "bad, one byte larger", info: ofOurs, contentType: apply, body: exact + "#"},
		{name: "bad, much larger", info: ofOurs, contentType: apply, body: long},
		{name: "bad, and the client is gone", info: ofOurs, contentType: apply, body: badApply, err: gone},
		{name: "larger, and the client is gone", info: ofOurs, contentType: apply, body: long, err: gone},
		{name: "empty", info: ofOurs, contentType: apply},
		{name: "no YAML", info: ofOurs, contentType: apply, body: "{"},
		{name: "merge patch", info: ofOurs, contentType: "application/merge-patch+json", body: badApply},
		{name: "another group", info: change(func(i *request.RequestInfo) { i.APIGroup = "apps" }), contentType: apply, body: badApply},
		{name: "another verb", info: change(func(i *request.RequestInfo) { i.Verb = "create" }), contentType: apply, body: badApply},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			next, recorder := &reached{}, httptest.NewRecorder()
			body := &broken{Reader: strings.NewReader(test.body), err: test.err}
			req := patch(test.info, test.contentType, body)
			filters.WithApplyBodyCheck(next, apiserver.Codecs, schemas, limit, isOurs).ServeHTTP(recorder, req)
			if next.called == test.refused {
				t.Fatalf("the handler was called: %v", next.called)
			}
			if !test.refused {
				if next.body != test.body || !errors.Is(next.err, test.err) {
					t.Errorf("the handler reads %d bytes and %v, want %d and %v", len(next.body), next.err, len(test.body), test.err)
				}
				if err := req.Body.Close(); err != nil || !body.closed {
					t.Errorf("closing the body: %v, closed %v", err, body.closed)
				}
				return
			}
			status := answer(t, recorder)
			if recorder.Code != http.StatusUnprocessableEntity || status.Reason != metav1.StatusReasonInvalid {
				t.Errorf("answer %d, %s", recorder.Code, status.Reason)
			}
			if d := status.Details; d.Group != ourGroup || d.Kind != "ClusterProfile" || d.Name != "atlas" {
				t.Errorf("details %+v", d)
			}
			var fields []string
			for _, cause := range status.Details.Causes {
				fields = append(fields, cause.Field)
			}
			want := []string{"status.accessProviders[0].cluster.certificate-authority-data", "status.conditions[0].lastTransitionTime"}
			if diff := cmp.Diff(want, fields); diff != "" {
				t.Errorf("causes (-want +got):\n%s", diff)
			}
		})
	}
}
