package agent

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// oldServer is an API server that cannot stream a list, and sends pods in two pages, the second when it is let.
type oldServer struct {
	t        *testing.T
	second   chan struct{}
	asked    chan struct{}
	selector atomic.Value
	watches  atomic.Int32
}

// ServeHTTP implements http.Handler.
func (o *oldServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	switch {
	case query.Get("sendInitialEvents") != "":
		http.Error(w, "sendInitialEvents is forbidden for watch", http.StatusUnprocessableEntity)
	case query.Get("watch") != "":
		o.watches.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case r.URL.Path == "/api/v1/nodes":
		o.write(w, &corev1.NodeList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []corev1.Node{*newNode("a", "cpu", "8")}})
	case r.URL.Path == "/api/v1/pods":
		o.selector.Store(query.Get("fieldSelector"))
		page := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1", Continue: "more"}}
		page.Items = []corev1.Pod{*newPod("first", "a", "cpu", "1")}
		if query.Get("continue") != "" {
			close(o.asked)
			select {
			case <-o.second:
			case <-r.Context().Done():
			}
			page.Continue, page.Items = "", []corev1.Pod{*newPod("second", "a", "cpu", "2")}
		} else if query.Get("limit") != "500" {
			o.t.Errorf("a list of pods without pages: %v", query)
		}
		o.write(w, page)
	default:
		http.NotFound(w, r)
	}
}

func (o *oldServer) write(w http.ResponseWriter, object any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(object); err != nil {
		o.t.Error(err)
	}
}

// TestPages wants nothing to be known as long as one page of pods is still to come, and all of it after that.
func TestPages(t *testing.T) {
	o := &oldServer{t: t, second: make(chan struct{}), asked: make(chan struct{})}
	server := httptest.NewServer(o)
	ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), logr.Discard()))
	t.Cleanup(func() {
		cancel()
		server.CloseClientConnections()
		server.Close()
	})
	i, p := newInventory(), &properties{}
	watched, err := watchers(&rest.Config{Host: server.URL}, i, p)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range watched {
		go w.run(ctx)
	}
	<-o.asked
	if i.listed() {
		t.Error("known before the last page")
	}
	close(o.second)
	deadline := time.Now().Add(time.Minute)
	for !i.listed() || !p.isListed() || o.watches.Load() < 2 {
		if time.Now().After(deadline) {
			t.Fatalf("nodes and pods known: %v, properties: %v, watches: %d", i.listed(), p.isListed(), o.watches.Load())
		}
		time.Sleep(10 * time.Millisecond)
	}
	_, resources, _ := i.summarize(nil)
	if diff := cmp.Diff(map[string]string{"cpu": "5"}, words(resources.Available)); diff != "" {
		t.Errorf("available (-want +got):\n%s", diff)
	}
	if got := o.selector.Load(); got != "spec.nodeName!=,status.phase!=Failed,status.phase!=Succeeded" && got != "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed" {
		t.Errorf("pods are selected by %s", got)
	}
}
