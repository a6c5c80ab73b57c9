package agent

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	certutil "k8s.io/client-go/util/cert"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned/scheme"
)

// fakeHub answers reports as it is told to.
type fakeHub struct {
	*httptest.Server
	dir string
	// answer writes an answer; without it the report is taken.
	answer func(w http.ResponseWriter)
	// token is the one that is known, or the name in a client certificate; any other is answered 401.
	token string

	requests []*http.Request
	reports  []*v1alpha1.ClusterReport
}

func newFakeHub(t *testing.T) *fakeHub {
	t.Helper()
	f := &fakeHub{dir: t.TempDir(), token: "first"}
	f.Server = httptest.NewUnstartedServer(f)
	f.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	f.EnableHTTP2 = true
	f.StartTLS()
	t.Cleanup(f.Close)
	return f
}

// ServeHTTP implements http.Handler.
func (f *fakeHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.requests = append(f.requests, r)
	shown := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if len(r.TLS.PeerCertificates) > 0 {
		shown, _, _ = strings.Cut(r.TLS.PeerCertificates[0].Subject.CommonName, "@")
	}
	if shown != f.token {
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	if f.answer != nil {
		f.answer(w)
		return
	}
	body, _ := io.ReadAll(r.Body)
	report := &v1alpha1.ClusterReport{}
	if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, report); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f.reports = append(f.reports, report)
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
	w.WriteHeader(http.StatusCreated)
	answer := report.DeepCopy()
	answer.Status.NextReportSeconds = 17
	_ = scheme.Codecs.EncoderForVersion(info.Serializer, v1alpha1.SchemeGroupVersion).Encode(answer, w)
}

// kubeconfig writes how to reach the hub, with a token or the file of one, and returns the path.
func (f *fakeHub) kubeconfig(t *testing.T, token, tokenFile string) string {
	t.Helper()
	return f.kubeconfigFor(t, &clientcmdapi.AuthInfo{Token: token, TokenFile: tokenFile})
}

func (f *fakeHub) kubeconfigFor(t *testing.T, identity *clientcmdapi.AuthInfo) string {
	t.Helper()
	path := filepath.Join(f.dir, "kubeconfig")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw})
	if err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"hub": {Server: f.URL, CertificateAuthorityData: ca}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"agent": identity},
		Contexts:       map[string]*clientcmdapi.Context{"hub": {Cluster: "hub", AuthInfo: "agent"}},
		CurrentContext: "hub",
	}, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func (f *fakeHub) client(t *testing.T, token, tokenFile string) *hub {
	t.Helper()
	return &hub{kubeconfig: f.kubeconfig(t, token, tokenFile), namespace: "fleet", name: "c1", userAgent: "test-agent"}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestPost(t *testing.T) {
	f := newFakeHub(t)
	report := &v1alpha1.ClusterReport{Spec: v1alpha1.ClusterReportSpec{KubernetesVersion: "v1.37.2", Nodes: &v1alpha1.NodeCounts{Total: 3, Ready: 2}}}
	o, err := f.client(t, "first", "").post(t.Context(), report)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(outcome{code: http.StatusCreated, next: 17 * time.Second}, o, cmp.AllowUnexported(outcome{})); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(report.Spec, f.reports[0].Spec); diff != "" {
		t.Errorf("what arrived (-sent +got):\n%s", diff)
	}
	r := f.requests[0]
	if r.Method != http.MethodPost || r.URL.Path != "/apis/binnacle.dev/v1alpha1/namespaces/fleet/clusterstatuses/c1/report" {
		t.Errorf("%s %s", r.Method, r.URL.Path)
	}
	if got := r.Header.Get("Content-Type"); got != runtime.ContentTypeProtobuf {
		t.Errorf("sent as %s", got)
	}
	if got := r.UserAgent(); got != "test-agent" {
		t.Errorf("user agent %s", got)
	}
}

// TestRefusals wants every refusal to be seen as what it is, once: client-go would repeat some by itself.
func TestRefusals(t *testing.T) {
	status := func(code int32, reason metav1.StatusReason, seconds int32) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			s := &metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason}
			if seconds > 0 {
				s.Details = &metav1.StatusDetails{RetryAfterSeconds: seconds}
			}
			info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
			w.Header().Set("Content-Type", runtime.ContentTypeJSON)
			w.WriteHeader(int(code))
			_ = scheme.Codecs.EncoderForVersion(info.Serializer, metav1.Unversioned).Encode(s, w)
		}
	}
	header := func(code int, value string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", value)
			http.Error(w, "no", code)
		}
	}
	tests := []struct {
		name   string
		answer func(http.ResponseWriter)
		want   outcome
		is     func(error) bool
	}{
		{"too many requests, of the priorities", header(429, "7"), outcome{code: 429, retryAfter: 7 * time.Second}, apierrors.IsTooManyRequests},
		{"too many requests, in the body", status(429, metav1.StatusReasonTooManyRequests, 9), outcome{code: 429, retryAfter: 9 * time.Second}, apierrors.IsTooManyRequests},
		{"not ready", header(503, "3"), outcome{code: 503, retryAfter: 3 * time.Second}, apierrors.IsServiceUnavailable},
		{"a time that nobody can wait for", header(503, "99999999999"), outcome{code: 503, retryAfter: maxRetryAfter}, apierrors.IsServiceUnavailable},
		{"no number", header(503, "soon"), outcome{code: 503}, apierrors.IsServiceUnavailable},
		{"broken", header(500, ""), outcome{code: 500}, apierrors.IsInternalError},
		{"another profile", status(409, metav1.StatusReasonConflict, 0), outcome{code: 409}, apierrors.IsConflict},
		{"no profile", status(404, metav1.StatusReasonNotFound, 0), outcome{code: 404}, apierrors.IsNotFound},
		{"no right", status(403, metav1.StatusReasonForbidden, 0), outcome{code: 403}, apierrors.IsForbidden},
		{"unknown", status(401, metav1.StatusReasonUnauthorized, 0), outcome{code: 401}, apierrors.IsUnauthorized},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFakeHub(t)
			f.answer = test.answer
			o, err := f.client(t, "first", "").post(t.Context(), &v1alpha1.ClusterReport{})
			if !test.is(err) || explained(err) == nil {
				t.Errorf("error %v", err)
			}
			if diff := cmp.Diff(test.want, o, cmp.AllowUnexported(outcome{})); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
			if len(f.requests) != 1 {
				t.Errorf("%d requests for one report", len(f.requests))
			}
		})
	}
}

func TestHubThatDoesNotAnswer(t *testing.T) {
	f := newFakeHub(t)
	h := f.client(t, "first", "")
	f.Close()
	if o, err := h.post(t.Context(), &v1alpha1.ClusterReport{}); err == nil || o != (outcome{}) {
		t.Errorf("outcome %v: %v", o, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.post(ctx, &v1alpha1.ClusterReport{}); err == nil {
		t.Error("no error at the end")
	}
}

// TestCredentialsAreReadAgain replaces the token in each place where it can be.
func TestCredentialsAreReadAgain(t *testing.T) {
	f := newFakeHub(t)
	post := func(h *hub) int {
		t.Helper()
		o, _ := h.post(t.Context(), &v1alpha1.ClusterReport{})
		return o.code
	}
	t.Run("in a file that the kubeconfig names", func(t *testing.T) {
		f.token = "first"
		file := filepath.Join(f.dir, "token")
		write(t, file, "first\n")
		h := f.client(t, "", file)
		before := post(h)
		// The hub stops taking the old token: the file is read again without waiting until client-go does it by itself.
		f.token = "second"
		write(t, file, "second\n")
		if got := []int{before, post(h), post(h)}; !cmp.Equal(got, []int{201, 401, 201}) {
			t.Errorf("answers %v", got)
		}
	})
	t.Run("in the files of a client certificate", func(t *testing.T) {
		f.token = "first"
		cert, key := filepath.Join(f.dir, "tls.crt"), filepath.Join(f.dir, "tls.key")
		issue := func(name string) {
			certPEM, keyPEM, err := certutil.GenerateSelfSignedCertKey(name, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			write(t, cert, string(certPEM[:bytes.Index(certPEM, []byte("-----END"))])+"-----END CERTIFICATE-----\n")
			write(t, key, string(keyPEM))
		}
		issue("first")
		h := &hub{kubeconfig: f.kubeconfigFor(t, &clientcmdapi.AuthInfo{ClientCertificate: cert, ClientKey: key}), namespace: "fleet", name: "c1"}
		before := post(h)
		f.token = "second"
		issue("second")
		if got := []int{before, post(h)}; !cmp.Equal(got, []int{201, 401}) {
			t.Fatalf("answers %v", got)
		}
		// client-go reads the files for a new connection, once a second at most.
		deadline := time.Now().Add(time.Minute)
		for code := post(h); code != http.StatusCreated; code = post(h) {
			if time.Now().After(deadline) {
				t.Fatalf("still %d", code)
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	t.Run("in the kubeconfig", func(t *testing.T) {
		f.token = "first"
		h := f.client(t, "first", "")
		before := post(h)
		f.token = "second"
		f.kubeconfig(t, "second", "")
		if got := []int{before, post(h)}; !cmp.Equal(got, []int{201, 201}) {
			t.Errorf("answers %v", got)
		}
		write(t, h.kubeconfig, "half a f")
		between := post(h)
		if err := os.Remove(h.kubeconfig); err != nil {
			t.Fatal(err)
		}
		if got := []int{between, post(h)}; !cmp.Equal(got, []int{201, 201}) {
			t.Errorf("without a kubeconfig that can be read the answers are %v", got)
		}
	})
	t.Run("no kubeconfig at the start", func(t *testing.T) {
		if err := (&hub{kubeconfig: filepath.Join(f.dir, "none")}).load(t.Context()); err == nil {
			t.Error("no error")
		}
	})
}
