package integration

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// lateWarner is a webhook that answers at about the time when a request of so long a timeout is over, with many warnings, which take a moment to
// be added to an answer.
func lateWarner(t *testing.T) *httptest.Server {
	t.Helper()
	var warnings []string
	for i := range 400 {
		warnings = append(warnings, fmt.Sprint("late ", i))
	}
	hook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		// The name says how long the request has.
		if _, timeout, ok := strings.Cut(review.Request.Name, "-in-"); ok {
			d, _ := time.ParseDuration(timeout)
			<-time.After(d - time.Duration(rand.Int63n(int64(30*time.Millisecond))))
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true, Warnings: warnings}
		review.Request = nil
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(hook.Close)
	return hook
}

// wholeAnswer posts a report and returns the code of the answer, which has to be whole: 0 where the server took back an answer that had begun when the
// time was up, as the library does.
func (f fleet) wholeAnswer(t *testing.T, url string) int {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(f.statuses.expand(reportOf("", rarely).body)))
	if err != nil {
		t.Error(err)
		return 0
	}
	req.Header.Set("Content-Type", jsonType)
	resp, err := f.statuses.client.Do(req)
	var raw []byte
	if err == nil {
		defer resp.Body.Close()
		raw, err = io.ReadAll(resp.Body)
	}
	if err != nil {
		if !strings.Contains(err.Error(), "INTERNAL_ERROR; received from peer") {
			t.Error(err)
		}
		return 0
	}
	var body struct {
		Kind   string
		Reason metav1.StatusReason
		Code   int
	}
	err = json.Unmarshal(raw, &body)
	warned := len(resp.Header.Values("Warning")) > 0
	switch code := resp.StatusCode; {
	case err != nil:
	case code == http.StatusCreated && body.Kind == "ClusterReport" && warned, code == http.StatusTooManyRequests && body.Code == code && warned,
		code == http.StatusGatewayTimeout && body.Code == code && body.Reason == metav1.StatusReasonTimeout:
		return code
	}
	t.Errorf("%s: %d %v %v %s", url, resp.StatusCode, resp.Header, err, shorten(string(raw)))
	return resp.StatusCode
}

// TestLateWarningsOfReports has warnings of admission come when the time of a report is up that says how much it has, as all do that the library's
// handler takes. Each is answered in whole, as taken or as out of time, and the server lives.
func TestLateWarningsOfReports(t *testing.T) {
	t.Parallel()
	replica, namespace := startReplica(t, "late-warnings"), newNamespace(t)
	f := newFleet(t, replica.ConfigFor("admin", framework.AdminGroup), namespace)
	timeouts := []string{"1s", "150ms", "250ms"}
	var names []string
	for i := range 60 {
		names = append(names, fmt.Sprintf("c%d-in-%s", i, timeouts[i%len(timeouts)]))
	}
	f.add(append(slices.Clone(names), "x")...)
	hook := lateWarner(t)
	registration, ctx := kubernetes.NewForConfigOrDie(hub.AdminConfig()).AdmissionregistrationV1().ValidatingWebhookConfigurations(), context.WithoutCancel(t.Context())
	selector, rule := rules(namespace, "clusterstatuses/report")
	named := metav1.ObjectMeta{Name: "late-" + namespace}
	if _, err := registration.Create(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: named, Webhooks: []admissionregistrationv1.ValidatingWebhook{{
		Name: "late.example.com", NamespaceSelector: selector, Rules: []admissionregistrationv1.RuleWithOperations{rule}, AdmissionReviewVersions: []string{"v1"},
		ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: ptr.To(hook.URL), CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw})},
		SideEffects:  ptr.To(admissionregistrationv1.SideEffectClassNone), FailurePolicy: ptr.To(admissionregistrationv1.Ignore),
	}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = registration.Delete(ctx, named.Name, metav1.DeleteOptions{}) })
	within(t, 2*requestTimeout, "the webhook to be asked", func() bool {
		a := f.statuses.do(request{method: http.MethodPost, path: reportOf("x", "").path + "?dryRun=All", contentType: jsonType, body: reportOf("x", "").body})
		return a.code == http.StatusCreated && len(a.warnings) > 0
	})
	var mu sync.Mutex
	all := map[int]int{}
	each(len(names), len(names), func(i int) {
		_, timeout, _ := strings.Cut(names[i], "-in-")
		for range 8 {
			code := f.wholeAnswer(t, f.statuses.url+f.statuses.expand("/apis/GROUP/VERSION/namespaces/NS/"+reportOf(names[i], "").path+"?timeout="+timeout))
			mu.Lock()
			all[code]++
			mu.Unlock()
		}
	})
	t.Logf("answers by code: %v", all)
	if all[http.StatusGatewayTimeout] == 0 {
		t.Error("no time was ever up")
	}
	select {
	case <-replica.Exited():
		log, _ := os.ReadFile(replica.LogPath())
		_, why, _ := strings.Cut(string(log), "fatal error: ")
		t.Fatalf("the server ended: %.1000s", why)
	default:
		f.report("x", rarely)
	}
}
