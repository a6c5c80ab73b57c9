package agent

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/test/framework"
)

func anyReport(v1alpha1.ClusterReportSpec) bool { return true }

// TestRefused has the hub refuse the first reports, and wants the agent to take its time, the more the longer that goes on, and to go on as
// before when the hub takes one again.
func TestRefused(t *testing.T) {
	const refused = 3
	tests := map[string]struct {
		code       int
		retryAfter string
		// least is what lies between the refused requests at least, in seconds.
		least []float64
	}{
		"too many requests":    {429, "2", []float64{2, 2, 2}},
		"not ready":            {503, "1", []float64{1, 1, 2}},
		"broken":               {500, "", []float64{0.5, 1, 2}},
		"another profile":      {409, "", []float64{0.5, 1, 2}},
		"no profile":           {404, "", []float64{0.5, 1, 2}},
		"no right":             {403, "", []float64{0.5, 1, 2}},
		"unknown":              {401, "", []float64{0.5, 1, 2}},
		"connection cut":       {0, "", []float64{0.5, 1, 2}},
		"an answer of nothing": {200, "", []float64{0.5, 1, 2}},
	}
	hubs := map[string]*standIn{}
	for name, test := range tests {
		hubs[name] = newStandIn(t, func(n int, w http.ResponseWriter) bool {
			if n > refused {
				return false
			}
			if test.code == 0 {
				panic(http.ErrAbortHandler)
			}
			if test.retryAfter != "" {
				w.Header().Set("Retry-After", test.retryAfter)
			}
			w.WriteHeader(test.code)
			_, _ = io.WriteString(w, "no")
			return true
		})
		startAgent(t, hubs[name]) // all at once: they mostly wait
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := hubs[name]
			awaitRequests(t, s, refused+1)
			s.awaitReport(t, "a report after the one that is taken first", anyReport)
			at := s.requests()
			for i, least := range test.least {
				if gap := at[i+1].Sub(at[i]).Seconds(); gap < least*0.95 {
					t.Errorf("%.2f s between requests %d and %d, want %.1f at least", gap, i+1, i+2, least)
				}
			}
		})
	}
}

// TestHubIsAway wants the agent to find a hub again that was not there.
func TestHubIsAway(t *testing.T) {
	s := newStandIn(t, nil)
	p := startAgent(t, s)
	s.awaitReport(t, "a report", anyReport)
	address := s.Listener.Addr().String()
	s.CloseClientConnections()
	s.Close()
	within(t, "the agent to notice", func() bool { return strings.Contains(p.log.String(), "The hub did not take a report") }, func() any { return nil })
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	again := &http.Server{Handler: s, TLSConfig: s.TLS}
	go func() { _ = again.ServeTLS(listener, "", "") }()
	t.Cleanup(func() { _ = again.Close() })
	s.awaitReport(t, "a report after it is back", anyReport)
}

// TestInterval wants the interval of the answers to be followed, and changed when they change.
func TestInterval(t *testing.T) {
	s := newStandIn(t, nil)
	s.change(func() { s.next = 3 })
	startAgent(t, s, "--interval=1h")
	awaitRequests(t, s, 4)
	s.change(func() { s.next = 1 })
	awaitRequests(t, s, 8)
	at := s.requests()
	for i, least := range []float64{3, 3, 3, 0, 1, 1, 1} { // one answer may have been on its way
		if gap := at[i+1].Sub(at[i]).Seconds(); gap < least*0.98 {
			t.Errorf("%.2f s between reports %d and %d, want %.0f at least", gap, i+1, i+2, least)
		}
	}
	// Nine and a half seconds is what is asked for; the rest is for a loaded machine.
	if all := at[7].Sub(at[0]); all > patience/2 {
		t.Errorf("eight reports took %s", all)
	}
}

func awaitRequests(t *testing.T, s *standIn, n int) {
	t.Helper()
	within(t, fmt.Sprint(n, " requests"), func() bool { return len(s.requests()) >= n }, func() any { return len(s.requests()) })
}

// TestTokenIsReplaced replaces the token of the hub, as a Secret that changes does, and wants the agent to use the new one.
func TestTokenIsReplaced(t *testing.T) {
	s := newStandIn(t, nil)
	startAgent(t, s)
	s.awaitReport(t, "a report", anyReport)
	s.change(func() { s.token = "second" })
	s.writeToken(t, "second")
	s.awaitReport(t, "a report with the new token", anyReport)
	t.Run("and the whole kubeconfig", func(t *testing.T) {
		config := readConfig(t, s.kubeconfig)
		config.BearerTokenFile, config.BearerToken = "", "third"
		s.change(func() { s.token = "third" })
		if err := framework.WriteKubeconfig(s.kubeconfig, config); err != nil {
			t.Fatal(err)
		}
		s.awaitReport(t, "a report with the new kubeconfig", anyReport)
	})
}

// TestEnd wants SIGTERM to end the agent, whatever it waits for.
func TestEnd(t *testing.T) {
	tests := map[string]func(n int, w http.ResponseWriter) bool{
		"between reports": nil,
		"while refused":   func(_ int, w http.ResponseWriter) bool { w.WriteHeader(500); return true },
	}
	for name, answer := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStandIn(t, answer)
			s.change(func() { s.next = 3000 })
			p := startAgent(t, s)
			awaitRequests(t, s, 1)
			wantEnd(t, p)
		})
	}
	t.Run("while the hub does not answer", func(t *testing.T) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { listener.Close() })
		s := newStandIn(t, nil)
		config := readConfig(t, s.kubeconfig)
		config.Host = "https://" + listener.Addr().String()
		if err := framework.WriteKubeconfig(s.kubeconfig, config); err != nil {
			t.Fatal(err)
		}
		p := startAgent(t, s)
		connection, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { connection.Close() })
		wantEnd(t, p)
	})
}

func wantEnd(t *testing.T, p *process) {
	t.Helper()
	asked := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-p.ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
	if took := time.Since(asked); took > 2*time.Second {
		t.Errorf("it took %s to end", took)
	}
}

// TestProbes asks what the kubelet and Prometheus ask.
func TestProbes(t *testing.T) {
	port, err := framework.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprint("127.0.0.1:", port)
	get := func(path string) (int, string) { return get(address, path) }
	is := func(path string, code int) func() bool {
		return func() bool { got, _ := get(path); return got == code }
	}
	last := func(path string) func() any {
		return func() any { code, body := get(path); return fmt.Sprint(code, body) }
	}
	s := newStandIn(t, nil)
	p := startAgent(t, s, "--health-bind-address="+address)
	within(t, "to be ready", is("/readyz", 200), last("/readyz"))
	s.change(func() { s.answer = func(_ int, w http.ResponseWriter) bool { w.WriteHeader(500); return true } })
	within(t, "not to be ready after three intervals", is("/readyz", 503), last("/readyz"))
	if code, body := get("/healthz"); code != 200 {
		t.Errorf("/healthz answers %d %s", code, body)
	}
	within(t, "a refusal in the metrics", func() bool {
		_, body := get("/metrics")
		return slices.ContainsFunc(strings.Split(body, "\n"), func(line string) bool { return strings.HasPrefix(line, `binnacle_agent_reports_total{code="500"}`) })
	}, last("/metrics"))
	_, body := get("/metrics")
	for _, name := range []string{"binnacle_agent_reports_total{code=\"201\"} ", "binnacle_agent_last_success_timestamp_seconds 1.", "binnacle_agent_next_report_seconds ",
		"rest_client_requests_total{", "go_goroutines ", "process_resident_memory_bytes "} {
		if !strings.Contains(body, "\n"+name) {
			t.Errorf("the metrics have no %s", name)
		}
	}
	s.change(func() { s.answer = nil })
	within(t, "to be ready again", is("/readyz", 200), last("/readyz"))
	wantEnd(t, p)
}

// get asks without TLS.
func get(address, path string) (int, string) {
	response, err := http.Get("http://" + address + path)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(body)
}
