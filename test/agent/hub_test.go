package agent

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned/scheme"
	"github.com/binnacle-dev/binnacle/test/framework"
)

const (
	reportPath = "/apis/binnacle.dev/v1alpha1/namespaces/fleet/clusterstatuses/c1/report"
	// patience is for what a loaded machine makes late. Nothing waits for so long that works.
	patience = 2 * time.Minute
)

// standIn takes reports as the hub does.
type standIn struct {
	*httptest.Server
	dir, kubeconfig, tokenFile string

	mu sync.Mutex
	// answer is asked first; it returns false to leave the answer to the stand-in. n counts requests from 1.
	answer  func(n int, w http.ResponseWriter) bool
	token   string
	next    int32
	at      []time.Time
	reports []*v1alpha1.ClusterReport
	wrong   []string
}

// newStandIn starts one that asks for a report each second.
func newStandIn(t *testing.T, answer func(n int, w http.ResponseWriter) bool) *standIn {
	t.Helper()
	dir := t.TempDir()
	s := &standIn{dir: dir, kubeconfig: filepath.Join(dir, "hub"), tokenFile: filepath.Join(dir, "token"), answer: answer, token: "first", next: 1}
	s.Server = httptest.NewUnstartedServer(s)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	s.writeToken(t, "first")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	err := framework.WriteKubeconfig(s.kubeconfig, &rest.Config{Host: s.URL, BearerTokenFile: s.tokenFile, TLSClientConfig: rest.TLSClientConfig{CAData: ca}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, wrong := range s.wrong {
			t.Error(wrong)
		}
	})
	return s
}

func (s *standIn) writeToken(t *testing.T, token string) {
	t.Helper()
	if err := os.WriteFile(s.tokenFile, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
}

// ServeHTTP implements http.Handler.
func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = append(s.at, time.Now())
	if r.Method != http.MethodPost || r.URL.Path != reportPath || r.Header.Get("Content-Type") != runtime.ContentTypeProtobuf || !strings.HasPrefix(r.UserAgent(), "binnacle-agent/v") {
		s.wrong = append(s.wrong, "asked for "+r.Method+" "+r.URL.Path+" as "+r.UserAgent()+" with "+r.Header.Get("Content-Type"))
	}
	if r.Header.Get("Authorization") != "Bearer "+s.token {
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	if s.answer != nil && s.answer(len(s.at), w) {
		return
	}
	report := &v1alpha1.ClusterReport{}
	if err == nil {
		_, _, err = scheme.Codecs.UniversalDeserializer().Decode(body, nil, report)
	}
	if err != nil {
		s.wrong = append(s.wrong, err.Error())
		return
	}
	s.reports = append(s.reports, report)
	answer := report.DeepCopy()
	answer.Status.NextReportSeconds = s.next
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
	w.WriteHeader(http.StatusCreated)
	_ = scheme.Codecs.EncoderForVersion(info.Serializer, v1alpha1.SchemeGroupVersion).Encode(answer, w)
}

// requests returns when requests came.
func (s *standIn) requests() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]time.Time{}, s.at...)
}

// taken returns the reports that were taken.
func (s *standIn) taken() []*v1alpha1.ClusterReport {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*v1alpha1.ClusterReport{}, s.reports...)
}

// change changes how it answers.
func (s *standIn) change(how func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	how()
}

// awaitReport waits for a report that arrives from now on, and returns it.
func (s *standIn) awaitReport(t *testing.T, what string, wanted func(v1alpha1.ClusterReportSpec) bool) v1alpha1.ClusterReportSpec {
	t.Helper()
	var found v1alpha1.ClusterReportSpec
	seen := len(s.taken())
	within(t, what, func() bool {
		for _, report := range s.taken()[seen:] {
			seen++
			found = report.Spec
			if wanted(found) {
				return true
			}
		}
		return false
	}, func() any { return found })
	return found
}

// within waits for a condition. last is what there was instead.
func within(t *testing.T, what string, met func() bool, last func() any) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !met() {
		select {
		case <-deadline:
			t.Fatalf("%s does not come within %s; last: %+v", what, patience, last())
		case <-tick.C:
		}
	}
}

// readConfig reads a kubeconfig that WriteKubeconfig wrote.
func readConfig(t *testing.T, path string) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	return config
}
