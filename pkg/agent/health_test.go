package agent

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

func TestHealth(t *testing.T) {
	refused := errors.New("dial tcp 127.0.0.1:45678: connection refused")
	type verdict struct{ Status, Reason, Version string }
	unknown := verdict{"Unknown", ReasonNotProbed, ""}
	tests := []struct {
		name   string
		probes []error
		want   verdict
	}{
		{"no probe", nil, unknown},
		{"one failure says nothing", []error{refused}, unknown},
		{"two do", []error{refused, refused}, verdict{"False", ReasonAPIServerUnreachable, ""}},
		{"ready", []error{nil}, verdict{"True", ReasonAPIServerReady, "v1"}},
		{"one failure between", []error{nil, refused, nil, refused}, verdict{"True", ReasonAPIServerReady, "v1"}},
		{"away, with the version of before", []error{nil, refused, refused}, verdict{"False", ReasonAPIServerUnreachable, "v1"}},
		{"answers that it is not ready", []error{nil, refused, statusError(500)}, verdict{"False", ReasonAPIServerNotReady, "v1"}},
		{"and back at once", []error{refused, refused, nil}, verdict{"True", ReasonAPIServerReady, "v1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := newHealth()
			for _, err := range test.probes {
				version := ""
				if err == nil {
					version = "v1"
				}
				h.probed(err, version)
			}
			condition, version := h.state()
			if diff := cmp.Diff(test.want, verdict{string(condition.Status), condition.Reason, version}); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
			if strings.Contains(condition.Message, "45678") {
				t.Errorf("a message that differs each time: %s", condition.Message)
			}
			if h.isProbed() != (condition.Status != metav1.ConditionUnknown) {
				t.Error("known is not what the condition says")
			}
		})
	}
}

func TestProbe(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		if r.URL.Path == "/version" {
			_, _ = w.Write([]byte(`{"gitVersion":"v1.2.3"}`))
		}
	}))
	defer server.Close()
	p, err := newProber(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	var found struct{ GitVersion string }
	if err := errors.Join(p.get(t.Context(), "/readyz", nil), p.get(t.Context(), "/version", &found)); err != nil || found.GitVersion != "v1.2.3" {
		t.Errorf("version %q: %v", found.GitVersion, err)
	}
	status = http.StatusInternalServerError
	if err := p.get(t.Context(), "/readyz", nil); !errors.Is(err, statusError(500)) {
		t.Errorf("an answer of 500 is %v", err)
	}
	server.Close()
	var answered statusError
	if err := p.get(t.Context(), "/readyz", nil); err == nil || errors.As(err, &answered) {
		t.Errorf("no answer is %v", err)
	}
}
