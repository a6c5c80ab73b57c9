package filters

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// retryWatch is after how many seconds a watch may be opened again that was refused during shutdown: by then it leads elsewhere.
const retryWatch = 1

// Drain lets clients leave the connections of a server that is shutting down, while it still serves for its shutdown delay. HTTP/1.1
// alone can: with the next answer, a client is told that it was the last of the connection. HTTP/2 has GOAWAY for that, upon which Go
// drops the requests that are on their way, and a proxy such as the hub cannot send a body again (kubernetes/kubernetes#135285).
type Drain struct {
	// Shutdown is closed when the shutdown begins, and Delay later the server ends its connections.
	Shutdown <-chan struct{}
	Delay    time.Duration
	// Resolver and LongRunning say which requests are watches.
	Resolver    request.RequestInfoResolver
	LongRunning request.LongRunningRequestCheck
}

// Filter ends each HTTP/1.1 connection with its next answer once the shutdown has begun. Open watches end in the middle of the delay: their
// connections return to the client, which may use them for something else at once, so the server must still be there.
func (d Drain) Filter(handler http.Handler) http.Handler {
	ending, end := context.WithCancel(context.Background())
	go func() {
		<-d.Shutdown
		time.AfterFunc(d.Delay/2, end)
	}()
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.ProtoMajor != 1 {
			handler.ServeHTTP(w, req)
			return
		}
		draining := closed(d.Shutdown)
		if draining {
			w.Header().Set("Connection", "close")
		}
		if d.isWatch(req) {
			if draining {
				w.Header().Set("Retry-After", strconv.Itoa(retryWatch))
				http.Error(w, "The server is shutting down, please try again.", http.StatusTooManyRequests)
				return
			}
			ctx, cancel := context.WithCancel(req.Context())
			defer cancel()
			defer context.AfterFunc(ending, cancel)()
			req = req.WithContext(ctx)
		}
		handler.ServeHTTP(w, req)
	})
}

func (d Drain) isWatch(req *http.Request) bool {
	if req.Method != http.MethodGet {
		return false
	}
	info, err := d.Resolver.NewRequestInfo(req)
	return err == nil && d.LongRunning(req, info)
}

func closed(signal <-chan struct{}) bool {
	select {
	case <-signal:
		return true
	default:
		return false
	}
}
