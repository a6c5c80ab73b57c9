package filters_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apiserver"
	"github.com/binnacle-dev/binnacle/pkg/apiserver/filters"
)

// aReport is what the library makes of a POST of a report.
var aReport = request.RequestInfo{
	IsResourceRequest: true, Verb: "create", APIGroup: binnacle.GroupName, APIVersion: "v1alpha1", Resource: "clusterstatuses", Subresource: "report",
}

// limited is the filter before a handler, for requests of a kind; refused counts those that it refuses.
func limited(handler http.Handler, info *request.RequestInfo, refused *int) http.Handler {
	inner := filters.Subresource{GroupResource: binnacle.Resource("clusterstatuses"), Name: "report"}.WithBody(handler, apiserver.Codecs, filters.BodyRules{Limit: limit, Refused: func() { *refused++ }})
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		inner.ServeHTTP(w, req.WithContext(request.WithRequestInfo(req.Context(), info)))
	})
}

// chunked hides the length of a body from the client that sends it.
type chunked struct{ io.Reader }

// TestReportBodyLimit sends bodies of every length around the limit over real connections.
func TestReportBodyLimit(t *testing.T) {
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		for _, test := range []struct {
			name      string
			length    int
			lengthHid bool
			want      int
		}{
			{"no body", 0, false, http.StatusOK},
			{"small", 1, false, http.StatusOK},
			{"at the limit", limit, false, http.StatusOK},
			{"past the limit", limit + 1, false, http.StatusRequestEntityTooLarge},
			{"far past the limit", 100 * limit, false, http.StatusRequestEntityTooLarge},
			{"no body, length hidden", 0, true, http.StatusOK},
			{"small, length hidden", 1, true, http.StatusOK},
			{"at the limit, length hidden", limit, true, http.StatusOK},
			{"past the limit, length hidden", limit + 1, true, http.StatusRequestEntityTooLarge},
			{"far past the limit, length hidden", 1000 * limit, true, http.StatusRequestEntityTooLarge},
		} {
			t.Run(protocol+" "+test.name, func(t *testing.T) {
				next, refused := &reached{}, 0
				server := httptest.NewUnstartedServer(limited(next, &aReport, &refused))
				server.EnableHTTP2 = protocol == "HTTP/2.0"
				server.StartTLS()
				defer server.Close()
				sent := strings.Repeat("x", test.length)
				var body io.Reader = strings.NewReader(sent)
				if test.lengthHid {
					body = chunked{body}
				}
				response, err := server.Client().Post(server.URL, "application/json", body)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = response.Body.Close() }()
				if response.Proto != protocol || response.StatusCode != test.want {
					t.Fatalf("%s, %d, want %d", response.Proto, response.StatusCode, test.want)
				}
				if test.want == http.StatusOK {
					if !next.called || next.body != sent || next.err != nil || refused != 0 {
						t.Errorf("called %v with %d bytes, %v; refused %d", next.called, len(next.body), next.err, refused)
					}
					return
				}
				var status metav1.Status
				if err := json.NewDecoder(response.Body).Decode(&status); err != nil {
					t.Fatal(err)
				}
				if next.called || refused != 1 || status.Reason != metav1.StatusReasonRequestEntityTooLarge || !strings.Contains(status.Message, "1000 bytes") {
					t.Errorf("called %v, counted %d, answered %+v", next.called, refused, status)
				}
			})
		}
	}
}

// TestReportBodyLimitIsForReportsOnly lets larger bodies of all other requests through untouched, unread.
func TestReportBodyLimitIsForReportsOnly(t *testing.T) {
	for name, change := range map[string]func(*request.RequestInfo){
		"other verb":        func(i *request.RequestInfo) { i.Verb = "update" },
		"other group":       func(i *request.RequestInfo) { i.APIGroup = ourGroup },
		"other resource":    func(i *request.RequestInfo) { i.Resource = "rollouts" },
		"no subresource":    func(i *request.RequestInfo) { i.Subresource = "" },
		"other subresource": func(i *request.RequestInfo) { i.Subresource = "status" },
	} {
		t.Run(name, func(t *testing.T) {
			info, refused := aReport, 0
			change(&info)
			body := &broken{Reader: strings.NewReader(strings.Repeat("x", limit+1))}
			req := httptest.NewRequest(http.MethodPost, "/", nil)
			req.Body, req.ContentLength = body, -1
			same := false
			limited(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { same = req.Body == io.ReadCloser(body) }), &info, &refused).
				ServeHTTP(httptest.NewRecorder(), req)
			if !same || refused != 0 {
				t.Errorf("the body is the one that was sent: %v; refused %d", same, refused)
			}
		})
	}
}

// TestReportBodyThatBreaksOff is answered 400, and nothing of it comes through.
func TestReportBodyThatBreaksOff(t *testing.T) {
	next, refused := &reached{}, 0
	req := httptest.NewRequest(http.MethodPost, "/", nil)
	req.Body, req.ContentLength = &broken{Reader: strings.NewReader("half"), err: errors.New("reset by peer")}, -1
	recorder := httptest.NewRecorder()
	limited(next, &aReport, &refused).ServeHTTP(recorder, req)
	if recorder.Code != http.StatusBadRequest || next.called || refused != 0 {
		t.Errorf("answered %d, called %v, counted %d", recorder.Code, next.called, refused)
	}
}
