package filters

import (
	"context"
	"net/http"
	"sync"

	genericapifilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"
	"k8s.io/apiserver/pkg/warning"
)

// WithWarningsInTime puts the warnings of a request into its answer when that begins, and drops those that come later. The library's handlers leave
// admission behind on another goroutine when the time of a request is up; its recorder would then write to the headers that the handler writes to
// at the same moment, which ends the process. It stands next to the handlers.
func WithWarningsInTime(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		a := &answer{ResponseWriter: w, warnings: warningHeaders{}}
		// The library's recorder has headers of its own to write to.
		genericapifilters.WithWarningRecorder(http.HandlerFunc(func(_ http.ResponseWriter, inner *http.Request) {
			a.ctx = inner.Context()
			handler.ServeHTTP(responsewriter.WrapForHTTP1Or2(a), inner.WithContext(warning.WithWarningRecorder(a.ctx, a)))
		})).ServeHTTP(a.warnings, req)
	})
}

// answer is one whose warnings are kept apart until it begins.
type answer struct {
	http.ResponseWriter
	// ctx has the library's recorder, which writes to warnings.
	ctx context.Context

	mu       sync.Mutex
	warnings warningHeaders
	begun    bool
}

var (
	_ responsewriter.UserProvidedDecorator = &answer{}
	_ warning.Recorder                     = &answer{}
)

// Unwrap returns the writer of the server.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// AddWarning may be called on any goroutine at any time.
func (a *answer) AddWarning(agent, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.begun {
		warning.AddWarning(a.ctx, agent, text)
	}
}

// WriteHeader begins the answer.
func (a *answer) WriteHeader(code int) {
	a.begin()
	a.ResponseWriter.WriteHeader(code)
}

// Write begins the answer where nothing has.
func (a *answer) Write(data []byte) (int, error) {
	a.begin()
	return a.ResponseWriter.Write(data)
}

func (a *answer) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.begun {
		return
	}
	a.begun = true
	for _, text := range a.warnings.Header()["Warning"] {
		a.Header().Add("Warning", text)
	}
}

// warningHeaders are the headers of an answer that has nothing else.
type warningHeaders http.Header

// Header returns them.
func (h warningHeaders) Header() http.Header { return http.Header(h) }

// WriteHeader does nothing.
func (warningHeaders) WriteHeader(int) {}

// Write does nothing.
func (warningHeaders) Write(data []byte) (int, error) { return len(data), nil }
