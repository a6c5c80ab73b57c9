package filters

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericfilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
)

type decides struct {
	authorizer.Authorizer
	decision authorizer.Decision
	err      error
}

func (d decides) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return d.decision, "", d.err
}

// TestFailedReviews runs the library's authorization between our two parts.
func TestFailedReviews(t *testing.T) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metav1.Unversioned)
	codecs := serializer.NewCodecFactory(scheme)
	outage := errors.New("the hub is away")
	tests := []struct {
		name     string
		decision authorizer.Decision
		err      error
		answer   int // of the resource
		want     int
	}{
		{"allowed", authorizer.DecisionAllow, nil, http.StatusOK, http.StatusOK},
		{"denied", authorizer.DecisionDeny, nil, http.StatusOK, http.StatusForbidden},
		{"no opinion", authorizer.DecisionNoOpinion, nil, http.StatusOK, http.StatusForbidden},
		{"not decided", authorizer.DecisionDeny, outage, http.StatusOK, http.StatusServiceUnavailable},
		{"no opinion for want of an answer", authorizer.DecisionNoOpinion, outage, http.StatusOK, http.StatusServiceUnavailable},
		{"allowed by one of several, of which another failed", authorizer.DecisionAllow, outage, http.StatusOK, http.StatusOK},
		{"a fault of the resource itself", authorizer.DecisionAllow, nil, http.StatusInternalServerError, http.StatusInternalServerError},
		{"a fault after a partial failure", authorizer.DecisionAllow, outage, http.StatusInternalServerError, http.StatusInternalServerError},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			reached := false
			resource := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				reached = true
				w.WriteHeader(test.answer)
				_, _ = w.Write([]byte("from the resource"))
			})
			handler := WithFailedReviews(genericfilters.WithAuthorization(resource, MarkFailedReviews(decides{decision: test.decision, err: test.err}), codecs), codecs)
			req := httptest.NewRequest(http.MethodGet, "/apis", nil)
			req = req.WithContext(request.WithRequestInfo(req.Context(), &request.RequestInfo{Path: "/apis", Verb: "get"}))
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, req)
			if w.Code != test.want {
				t.Errorf("%d %s, want %d", w.Code, w.Body, test.want)
			}
			if allowed := test.decision == authorizer.DecisionAllow; reached != allowed || allowed && w.Body.String() != "from the resource" {
				t.Errorf("reached: %t, answered %s", reached, w.Body)
			}
			if test.want != http.StatusServiceUnavailable {
				return
			}
			var status metav1.Status
			if err := json.Unmarshal(w.Body.Bytes(), &status); err != nil || status.Reason != metav1.StatusReasonServiceUnavailable || w.Header().Get("Retry-After") != "1" {
				t.Errorf("%s %v (%v)", w.Body, w.Header(), err)
			}
		})
	}
}
