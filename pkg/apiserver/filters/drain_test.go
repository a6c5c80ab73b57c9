package filters

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	genericfilters "k8s.io/apiserver/pkg/server/filters"
)

// TestDrain opens a watch, begins a shutdown, and wants the watch to end well while the server still serves, and each connection to end
// with its next answer.
func TestDrain(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		name := map[bool]string{false: "HTTP/1.1", true: "HTTP/2"}[http2]
		t.Run(name, func(t *testing.T) {
			shutdown, opened, finished := make(chan struct{}), make(chan struct{}, 1), make(chan struct{})
			drain := Drain{
				Shutdown: shutdown, Delay: 100 * time.Millisecond,
				Resolver:    &request.RequestInfoFactory{APIPrefixes: sets.NewString("apis"), GrouplessAPIPrefixes: sets.NewString()},
				LongRunning: genericfilters.BasicLongRunningRequestCheck(sets.NewString("watch"), sets.NewString()),
			}
			server := httptest.NewUnstartedServer(drain.Filter(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if req.URL.Query().Get("watch") == "" {
					return
				}
				w.(http.Flusher).Flush()
				opened <- struct{}{}
				select {
				case <-req.Context().Done():
				case <-finished:
				}
			})))
			server.EnableHTTP2 = http2
			server.StartTLS()
			defer server.Close()
			defer close(finished)
			get := func(path string) *http.Response {
				t.Helper()
				resp, err := server.Client().Get(server.URL + path)
				if err != nil {
					t.Fatal(err)
				}
				return resp
			}
			const things = "/apis/g/v1/things"
			if resp := get(things); resp.Close {
				t.Error("a connection is ended without a shutdown")
			}
			watch := get(things + "?watch=true")
			<-opened
			close(shutdown)
			if resp := get(things); resp.StatusCode != http.StatusOK || resp.Close == http2 {
				t.Errorf("during the shutdown: %d, the connection ends: %t", resp.StatusCode, resp.Close)
			}
			again := get(things + "?watch=true")
			if http2 {
				if again.StatusCode != http.StatusOK {
					t.Errorf("a watch over HTTP/2: %d", again.StatusCode)
				}
				return
			}
			if again.StatusCode != http.StatusTooManyRequests || again.Header.Get("Retry-After") != "1" || !again.Close {
				t.Errorf("a watch during the shutdown: %d %v", again.StatusCode, again.Header)
			}
			if _, err := io.ReadAll(watch.Body); err != nil {
				t.Errorf("the open watch ended with %v", err)
			}
			if resp := get(things); resp.StatusCode != http.StatusOK || !resp.Close {
				t.Errorf("after the watches: %d, the connection ends: %t", resp.StatusCode, resp.Close)
			}
		})
	}
}
