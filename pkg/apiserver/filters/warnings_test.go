package filters_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"k8s.io/apiserver/pkg/warning"

	"github.com/binnacle-dev/binnacle/pkg/apiserver/filters"
)

// TestWarningsInTime has somebody add warnings while an answer begins, as admission does that was left behind. Those that came before are in the
// answer, each once; the others harm nobody, which the race detector sees too.
func TestWarningsInTime(t *testing.T) {
	var late sync.WaitGroup
	server := httptest.NewServer(filters.WithWarningsInTime(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		warning.AddWarning(req.Context(), "", "early")
		warning.AddWarning(req.Context(), "", "early")
		begun := make(chan struct{})
		late.Go(func() {
			for i := range 2000 {
				warning.AddWarning(req.Context(), "", fmt.Sprint("late ", i))
				if i == 20 {
					close(begun)
				}
			}
		})
		<-begun
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusGatewayTimeout)
		for range 100 {
			w.Header().Add("Trailing", "x")
			_, _ = w.Write([]byte("out of time"))
		}
		if _, ok := w.(http.Flusher); !ok {
			t.Error("a watch could not be flushed")
		}
	})))
	defer server.Close()
	resp, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	late.Wait()
	texts := resp.Header.Values("Warning")
	if n := len(slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return text != `299 - "early"` })); n != 1 || len(texts) < 2 || resp.StatusCode != http.StatusGatewayTimeout {
		t.Errorf("%d with the warnings %q", resp.StatusCode, texts)
	}
}
