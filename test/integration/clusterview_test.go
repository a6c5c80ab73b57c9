package integration

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned"
	binnaclev1alpha1 "github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned/typed/binnacle/v1alpha1"
	multiclusterv1alpha2 "github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned/typed/multicluster/v1alpha2"
	"github.com/binnacle-dev/binnacle/test/framework"
)

// viewPatience is for what comes late on a loaded machine. Nothing that works takes so long.
const viewPatience = time.Minute

// beat is how often the clusters of these tests report. They ask for a second, and a server refuses who comes earlier.
const beat = 1100 * time.Millisecond

// startShared starts standalone servers on one etcd, which make one view, and publish often.
func startShared(t *testing.T, n int, flags ...string) ([]*framework.Server, *framework.Etcd, *clientv3.Client) {
	t.Helper()
	etcd, client := externalEtcd(t)
	var servers []*framework.Server
	for range n {
		servers = append(servers, startOn(t, etcd, flags...))
	}
	return servers, etcd, client
}

// startOn starts one more server on an etcd.
func startOn(t *testing.T, etcd *framework.Etcd, flags ...string) *framework.Server {
	t.Helper()
	return startStandalone(t, framework.ServerOptions{Etcd: etcd, Flags: append([]string{"--cluster-report-publish-interval=200ms"}, flags...)})
}

// crowd is many clusters of one namespace.
type crowd struct {
	config    *rest.Config
	namespace string
	names     []string
}

// register makes profiles for clusters c0 to c(n-1).
func register(t *testing.T, config *rest.Config, namespace string, n int) crowd {
	t.Helper()
	c := crowd{config: config, namespace: namespace}
	for i := range n {
		c.names = append(c.names, fmt.Sprint("c", i))
	}
	profiles := profilesOf(t, config, namespace)
	var wg sync.WaitGroup
	for first := range 8 {
		wg.Go(func() {
			for i := first; i < n; i += 8 {
				if _, err := profiles.Create(t.Context(), newProfile(c.names[i]), metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	return c
}

func profilesOf(t *testing.T, config *rest.Config, namespace string) multiclusterv1alpha2.ClusterProfileInterface {
	t.Helper()
	client, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client.MulticlusterV1alpha2().ClusterProfiles(namespace)
}

func statusesOf(t *testing.T, config *rest.Config, namespace string) binnaclev1alpha1.ClusterStatusInterface {
	t.Helper()
	client, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client.BinnacleV1alpha1().ClusterStatuses(namespace)
}

// at returns a client of each server.
func (c crowd) at(t *testing.T, servers []*framework.Server) []binnaclev1alpha1.ClusterStatusInterface {
	t.Helper()
	var clients []binnaclev1alpha1.ClusterStatusInterface
	for _, s := range servers {
		clients = append(clients, statusesOf(t, adminOf(t, s), c.namespace))
	}
	return clients
}

// answered is how a report was answered. Code 0 is no answer.
type answered struct {
	code  int
	retry string
	text  string
}

// reporters report for a crowd, each cluster every beat.
type reporters struct {
	namespace string
	clients   []*http.Client
	urls      []string

	mu    sync.Mutex
	count map[string]int
	wrong []string
	// last is the number of the newest report of each cluster that was taken, and when it was sent.
	last   map[string]int
	sentAt map[string]time.Time
	muted  map[string]bool
	// starting says that a server is just being started. Until it is ready, which is when a Service sends somebody to it, it may not know yet
	// whose certificates to trust, and answers 401.
	starting atomic.Bool
	stop     func()
}

// newReporters returns reporters that go to each of the given addresses in turn.
func newReporters(t *testing.T, namespace string, configs ...*rest.Config) *reporters {
	t.Helper()
	r := &reporters{namespace: namespace, count: map[string]int{}, last: map[string]int{}, sentAt: map[string]time.Time{}, muted: map[string]bool{}}
	for _, config := range configs {
		config = rest.CopyConfig(config)
		config.Timeout = 5 * time.Second
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		r.clients, r.urls = append(r.clients, client), append(r.urls, config.Host)
	}
	return r
}

// start lets clusters report until stop. Report number n of a cluster has what spec returns beside the interval; nothing is sent where it
// returns "".
func (r *reporters) start(t *testing.T, names []string, spec func(cluster, n int) string) *reporters {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() {
			// They do not come all at once.
			timer := time.NewTimer(beat * time.Duration(i) / time.Duration(len(names)))
			defer timer.Stop()
			for n := 0; ; n++ {
				select {
				case <-ctx.Done():
					return
				case <-timer.C:
				}
				timer.Reset(beat)
				if facts := spec(i, n); facts != "" && !r.isMuted(name) {
					// A report that has begun is finished: whether it was taken must be known.
					r.take(name, n, r.send(context.WithoutCancel(ctx), (i+n)%len(r.urls), name, facts))
				}
			}
		})
	}
	r.stop = func() {
		cancel()
		wg.Wait()
	}
	t.Cleanup(r.stop)
	return r
}

// send sends one report.
func (r *reporters) send(ctx context.Context, to int, name, spec string) answered {
	url := fmt.Sprintf("%s/apis/binnacle.dev/v1alpha1/namespaces/%s/clusterstatuses/%s/report", r.urls[to], r.namespace, name)
	body := `{"apiVersion":"binnacle.dev/v1alpha1","kind":"ClusterReport","spec":{"intervalSeconds":1,` + spec + `}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return answered{text: err.Error()}
	}
	req.Header.Set("Content-Type", jsonType)
	sent, starting := time.Now(), r.starting.Load()
	resp, err := r.clients[to].Do(req)
	if err != nil {
		return answered{text: err.Error()}
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	if resp.StatusCode == http.StatusCreated {
		r.mu.Lock()
		r.sentAt[name] = sent
		r.mu.Unlock()
	}
	if starting && resp.StatusCode == http.StatusUnauthorized {
		return answered{text: string(text)}
	}
	return answered{resp.StatusCode, resp.Header.Get("Retry-After"), string(text)}
}

// take counts an answer. Taken is 201; what a reporter tries again after is no answer, 429, and 503 that says when.
func (r *reporters) take(name string, n int, a answered) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch r.count[fmt.Sprint(a.code)]++; {
	case a.code == http.StatusCreated:
		r.last[name] = n
	case a.code == 0, (a.code == http.StatusTooManyRequests || a.code == http.StatusServiceUnavailable) && a.retry != "":
	default:
		r.wrong = append(r.wrong, fmt.Sprintf("report %d of %s: %d, Retry-After %q: %s", n, name, a.code, a.retry, shorten(a.text)))
	}
}

// mute makes clusters fall silent, or report again.
func (r *reporters) mute(silent bool, names ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range names {
		r.muted[name] = silent
	}
}

func (r *reporters) isMuted(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.muted[name]
}

// taken is the number of the newest report of each cluster that was taken.
func (r *reporters) taken() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.last)
}

// lastSent is when the newest report of a cluster that was taken was sent.
func (r *reporters) lastSent(name string) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sentAt[name]
}

// check fails for answers that no reporter expects, and returns how many there were of each code.
func (r *reporters) check(t *testing.T) map[string]int {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, wrong := range r.wrong {
		if i < 5 {
			t.Error(wrong)
		}
	}
	if len(r.wrong) > 5 {
		t.Errorf("and %d more", len(r.wrong)-5)
	}
	return maps.Clone(r.count)
}

// steady is a report of a cluster that is well, the same each time.
func steady(cluster, _ int) string {
	return fmt.Sprintf(`"kubernetesVersion":"v1.37.2","nodes":{"total":%d,"ready":%d},"conditions":[{"type":"ControlPlaneHealthy","status":"True"}]`, cluster+1, cluster+1)
}

// numbered is a report that says which one it is.
func numbered(cluster, n int) string {
	return steady(cluster, n) + fmt.Sprintf(`,"properties":[{"name":"number","value":"%d"}]`, n)
}

// numberIn is what numbered wrote, -1 where there is none.
func numberIn(s *v1alpha1.ClusterStatus) int {
	for _, p := range s.Status.Properties {
		n := -1
		if p.Name == "number" {
			_, _ = fmt.Sscan(p.Value, &n)
			return n
		}
	}
	return -1
}

// untilAll waits until all statuses of a client are as wanted.
func untilAll(t *testing.T, client binnaclev1alpha1.ClusterStatusInterface, what string, wanted func(*v1alpha1.ClusterStatus) bool) {
	t.Helper()
	within(t, viewPatience, what, func() bool {
		list, err := client.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return false
		}
		for i := range list.Items {
			if !wanted(&list.Items[i]) {
				return false
			}
		}
		return true
	})
}

func inPhase(phase v1alpha1.ClusterPhase) func(*v1alpha1.ClusterStatus) bool {
	return func(s *v1alpha1.ClusterStatus) bool { return s.Status.Phase == phase }
}

// sampleOf reads one sample of a server's metrics, -1 where there is none.
func sampleOf(t *testing.T, s *framework.Server, sample string) float64 {
	t.Helper()
	body := newCaller(t, adminOf(t, s), ours, "", "").must(request{method: http.MethodGet, path: "/metrics", accept: "text/plain"}).raw
	value := -1.0
	for line := range strings.Lines(string(body)) {
		if text, ok := strings.CutPrefix(line, sample+" "); ok {
			_, _ = fmt.Sscan(text, &value)
		}
	}
	return value
}
