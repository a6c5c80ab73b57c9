package integration

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	admissionregistrationclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	"k8s.io/utils/ptr"

	binnacleapi "github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// editor is a mutating webhook that gives requests a reason and keeps what it was asked.
type editor struct {
	*httptest.Server
	mu    sync.Mutex
	asked []*admissionv1.AdmissionRequest
}

func newEditor(t *testing.T, patch string) *editor {
	t.Helper()
	e := &editor{}
	e.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		e.mu.Lock()
		e.asked = append(e.asked, review.Request)
		e.mu.Unlock()
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true, Patch: []byte(patch), PatchType: ptr.To(admissionv1.PatchTypeJSONPatch), Warnings: []string{"a reason was given"}}
		review.Request = nil
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(e.Close)
	return e
}

// dryRuns are the verbs that it was asked about as dry runs, and others those that were meant.
func (e *editor) dryRuns() (dryRuns, others []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.asked {
		if ptr.Deref(r.DryRun, false) {
			dryRuns = append(dryRuns, r.SubResource)
		} else {
			others = append(others, r.SubResource)
		}
	}
	return dryRuns, others
}

// rules are those of verbs in one namespace.
func rules(namespace string, verbs ...string) (*metav1.LabelSelector, admissionregistrationv1.RuleWithOperations) {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}}, admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{ownGroup}, APIVersions: []string{"v1alpha1"}, Resources: verbs},
	}
}

// registering is a client that makes policies and webhooks, and a name for those of a namespace.
func registering(t *testing.T, namespace string) (admissionregistrationclient.AdmissionregistrationV1Interface, context.Context, metav1.ObjectMeta) {
	t.Helper()
	return kubernetes.NewForConfigOrDie(hub.AdminConfig()).AdmissionregistrationV1(), context.WithoutCancel(t.Context()), metav1.ObjectMeta{Name: "verbs-" + namespace}
}

// TestWebhooksChangeVerbs has a mutating webhook that gives verbs a reason, which has effects unless it is told of a dry run. The reason is on record;
// a dry run asks as one and changes nothing.
func TestWebhooksChangeVerbs(t *testing.T) {
	d := newDecider(t, hub.AdminConfig(), newNamespace(t))
	d.clusters(4)
	d.create(d.plan("app", 25, 50, 75, 100))
	hook := newEditor(t, `[{"op":"add","path":"/spec","value":{"reason":"ticket 7, says the webhook"}}]`) // {} has no spec
	registration, ctx, named := registering(t, d.namespace)
	selector, verbs := rules(d.namespace, "rollouts/advance", "rollouts/pause")
	if _, err := registration.MutatingWebhookConfigurations().Create(ctx, &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: named, Webhooks: []admissionregistrationv1.MutatingWebhook{{
		Name: "verbs.example.com", NamespaceSelector: selector, Rules: []admissionregistrationv1.RuleWithOperations{verbs}, AdmissionReviewVersions: []string{"v1"},
		ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: ptr.To(hook.URL), CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw})},
		SideEffects:  ptr.To(admissionregistrationv1.SideEffectClassNoneOnDryRun), FailurePolicy: ptr.To(admissionregistrationv1.Fail),
	}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = registration.MutatingWebhookConfigurations().Delete(ctx, named.Name, metav1.DeleteOptions{})
	})
	within(t, 2*requestTimeout, "the webhook to be asked", func() bool {
		dry, err := d.rollouts().Advance(t.Context(), "app", &v1alpha1.RolloutAction{}, metav1.CreateOptions{DryRun: []string{"All"}})
		return err == nil && dry.Spec.Reason != ""
	})
	if status := d.get("app").Status; status.Phase != v1alpha1.RolloutPending {
		t.Errorf("after a dry run it is %s", status.Phase)
	}
	if _, others := hook.dryRuns(); len(others) > 0 {
		t.Errorf("dry runs were asked about as %v", others)
	}
	warned := d.warnings(func(d decider) { d.must("app", binnacleapi.VerbAdvance) })
	d.must("app", binnacleapi.VerbPause, v1alpha1.RolloutActionSpec{Reason: "lunch"})
	d.must("app", binnacleapi.VerbResume, v1alpha1.RolloutActionSpec{Reason: "coffee"})
	var reasons []string
	for _, transition := range d.get("app").Status.Transitions {
		reasons = append(reasons, transition.Reason)
	}
	if want := []string{"ticket 7, says the webhook", "ticket 7, says the webhook", "coffee"}; !slices.Equal(reasons, want) || !slices.Contains(warned, "a reason was given") {
		t.Errorf("on record are %q, want %q; warnings %q", reasons, want, warned)
	}
	if _, others := hook.dryRuns(); !slices.Equal(others, []string{"advance", "pause"}) {
		t.Errorf("it was asked about %v", others)
	}
}
