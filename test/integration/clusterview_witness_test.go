package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// witness lists a crowd all the time, from the newest state and from any, and remembers each answer that nobody may get.
type witness struct {
	crowd     crowd
	client    *http.Client
	url, path string

	mu       sync.Mutex
	expected map[string]bool
	count    map[string]int
	wrong    []string
	stop     func()
}

func startWitness(t *testing.T, config *rest.Config, c crowd) *witness {
	t.Helper()
	config = rest.CopyConfig(config)
	config.Timeout = 10 * time.Second
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{
		crowd: c, client: client, url: config.Host, path: "/apis/binnacle.dev/v1alpha1/namespaces/" + c.namespace + "/clusterstatuses",
		expected: map[string]bool{}, count: map[string]int{},
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, query := range []string{"", "?resourceVersion=0"} {
		wg.Go(func() {
			for ctx.Err() == nil {
				w.judge(query, w.ask(w.path+query))
				select {
				case <-ctx.Done():
				case <-time.After(50 * time.Millisecond):
				}
			}
		})
	}
	w.stop = func() {
		cancel()
		wg.Wait()
	}
	t.Cleanup(w.stop)
	return w
}

func (w *witness) ask(path string) answered {
	resp, err := w.client.Get(w.url + path)
	if err != nil {
		return answered{text: err.Error()}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return answered{text: err.Error()}
	}
	return answered{resp.StatusCode, resp.Header.Get("Retry-After"), string(text)}
}

func (w *witness) judge(query string, a answered) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count[fmt.Sprint(query, " ", a.code)]++
	switch {
	case a.code == 0:
	case a.code == http.StatusServiceUnavailable && a.retry != "":
	case a.code == http.StatusOK:
		w.judgeList(query, a.text)
	default:
		w.wrong = append(w.wrong, fmt.Sprintf("a list%s: %d, Retry-After %q: %s", query, a.code, a.retry, shorten(a.text)))
	}
}

func (w *witness) judgeList(query, text string) {
	var list v1alpha1.ClusterStatusList
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		w.wrong = append(w.wrong, err.Error())
		return
	}
	if len(list.Items) != len(w.crowd.names) {
		w.wrong = append(w.wrong, fmt.Sprintf("a list%s has %d clusters", query, len(list.Items)))
	}
	for _, s := range list.Items {
		if s.Status.Phase != v1alpha1.ClusterReady && !(s.Status.Phase == v1alpha1.ClusterUnreachable && w.expected[s.Name]) {
			w.wrong = append(w.wrong, fmt.Sprintf("a list%s at %s shows %s %s", query, list.ResourceVersion, s.Name, s.Status.Phase))
		}
		if s.Status.Nodes == nil || s.Status.KubernetesVersion == "" {
			w.wrong = append(w.wrong, fmt.Sprintf("a list%s shows nothing of %s", query, s.Name))
		}
	}
}

// expect says that a cluster may be Unreachable from now on.
func (w *witness) expect(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.expected[name] = true
}

// check fails for what was wrong since the last check.
func (w *witness) check(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, wrong := range w.wrong {
		if i < 5 {
			t.Error(wrong)
		}
	}
	if len(w.wrong) > 5 {
		t.Errorf("and %d more", len(w.wrong)-5)
	}
	w.wrong = nil
}
