package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/test/framework"
)

// TestAdmissionOfReports has a policy and a webhook of the hub that match reports, and wants both to be asked, with what they need to
// decide, and to be obeyed. The hub's audit has who reported.
func TestAdmissionOfReports(t *testing.T) {
	t.Parallel()
	auditLog := filepath.Join(t.TempDir(), "audit.log")
	policy := file(t, "policy.yaml", `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}]}`)
	own, err := framework.StartHub(t.Context(), framework.HubOptions{Dir: t.TempDir(), APIServerFlags: []string{"--audit-policy-file=" + policy, "--audit-log-path=" + auditLog}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = own.Stop() })
	if _, err := own.StartBinnacle(t.Context(), framework.ServerOptions{}); err != nil {
		t.Fatal(err)
	}
	f := newFleet(t, own.AdminConfig(), "default")
	f.add("x", "denied")
	letReport(t, own, "default", rbacv1.Subject{Kind: rbacv1.GroupKind, Name: "agents"})
	agent := newFleet(t, own.ConfigFor("agent", "agents", "region:a"), "default")
	hook := newReviewer(t, func(r *admissionv1.AdmissionRequest) string {
		if strings.Contains(string(r.Object.Raw), "secret") {
			return "no secrets in reports"
		}
		return ""
	})
	admit(t, own, hook)
	dry := func(cluster, spec string) request {
		r := reportOf(cluster, spec)
		r.path += "?dryRun=All"
		return r
	}
	within(t, 2*requestTimeout, "the policy to be enforced", func() bool {
		a := agent.statuses.do(dry("denied", rarely))
		return a.code == http.StatusUnprocessableEntity && strings.Contains(a.status.Message, "denied by agent of region:a for denied, report, CREATE")
	})
	within(t, 2*requestTimeout, "the webhook to be asked", func() bool {
		a := agent.statuses.do(dry("x", propertyNamed("p", "secret")))
		return a.code == http.StatusForbidden && strings.Contains(a.status.Message, "no secrets in reports")
	})
	secret := &v1alpha1.ClusterReport{Spec: v1alpha1.ClusterReportSpec{Properties: []v1alpha1.ReportedProperty{{Name: "p", Value: "secret"}}}}
	for name, r := range map[string]request{
		"the webhook":             reportOf("x", propertyNamed("p", "secret")),
		"the policy":              reportOf("denied", rarely),
		"the webhook in protobuf": inProtobuf(t, "x", secret),
		"the policy in protobuf":  inProtobuf(t, "denied", &v1alpha1.ClusterReport{}),
	} {
		if a := agent.statuses.do(r); a.code != http.StatusForbidden && a.code != http.StatusUnprocessableEntity {
			t.Errorf("a report that %s denies: %d %s", name, a.code, a.raw)
		}
	}
	hook.forget()
	agent.statuses.must(inProtobuf(t, "x", &v1alpha1.ClusterReport{Spec: v1alpha1.ClusterReportSpec{IntervalSeconds: ptr.To[int32](3600), KubernetesVersion: "v1.37.2"}}))
	f.untilPhase("x", "Ready")
	asked := hook.last(t)
	type told struct{ Name, Namespace, Operation, Resource, SubResource, Kind, User, Object string }
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal(asked.Object.Raw, &object); err != nil {
		t.Error(err)
	}
	want := told{"x", "default", "CREATE", "binnacle.dev/v1alpha1 clusterstatuses", "report", "ClusterReport", "agent [agents region:a system:authenticated]", "default/x"}
	got := told{asked.Name, asked.Namespace, string(asked.Operation), asked.Resource.Group + "/" + asked.Resource.Version + " " + asked.Resource.Resource, asked.SubResource, asked.Kind.Kind,
		fmt.Sprint(asked.UserInfo.Username, " ", asked.UserInfo.Groups), object.Namespace + "/" + object.Name}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the webhook was told (-want +got):\n%s", diff)
	}
	if a := f.status("denied"); a.field("status", "phase") != "Unknown" {
		t.Errorf("a report that was denied left %s", a.raw)
	}
	eventually(t, "the hub's audit to tell of a report", func() bool {
		log, _ := os.ReadFile(auditLog)
		for _, line := range bytes.Split(log, []byte("\n")) {
			var e auditv1.Event
			if bytes.Contains(line, []byte(`"subresource":"report"`)) && json.Unmarshal(line, &e) == nil && e.ResponseStatus != nil && e.ResponseStatus.Code == http.StatusCreated {
				if e.User.Username == "agent" && e.Verb == "create" && e.ObjectRef.Name == "x" && e.ObjectRef.Resource == "clusterstatuses" && e.ObjectRef.APIGroup == ownGroup {
					return true
				}
			}
		}
		return false
	})
	// Who is to be asked and does not answer, denies.
	hook.Close()
	within(t, requestTimeout, "reports to be refused while the webhook is away", func() bool {
		a := agent.statuses.do(reportOf("x", rarely))
		return a.code == http.StatusInternalServerError && strings.Contains(a.status.Message, "failed calling webhook")
	})
}

// admit makes a policy that denies reports for the cluster denied, and a webhook that is asked about the others.
func admit(t *testing.T, own *framework.Hub, hook *reviewer) {
	t.Helper()
	registration := kubernetes.NewForConfigOrDie(own.AdminConfig()).AdmissionregistrationV1()
	rules := admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{ownGroup}, APIVersions: []string{"*"}, Resources: []string{"clusterstatuses/report"}},
	}
	ctx := context.WithoutCancel(t.Context())
	if _, err := registration.ValidatingAdmissionPolicies().Create(ctx, &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "reports"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			FailurePolicy:    ptr.To(admissionregistrationv1.Fail),
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: rules}}},
			Validations: []admissionregistrationv1.Validation{{
				Expression:        `object.metadata.name != 'denied' || request.subResource != 'report'`,
				MessageExpression: `'denied by ' + request.userInfo.username + ' of ' + request.userInfo.groups[1] + ' for ' + object.metadata.name + ', ' + request.subResource + ', ' + request.operation`,
			}},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := registration.ValidatingAdmissionPolicyBindings().Create(ctx, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reports"},
		Spec:       admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: "reports", ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := registration.ValidatingWebhookConfigurations().Create(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "reports"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "reports.example.com", ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: ptr.To(hook.URL), CABundle: hook.ca}, Rules: []admissionregistrationv1.RuleWithOperations{rules},
			FailurePolicy: ptr.To(admissionregistrationv1.Fail), SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// reviewer is an admission webhook that keeps what it allowed.
type reviewer struct {
	*httptest.Server
	ca      []byte
	mu      sync.Mutex
	allowed []*admissionv1.AdmissionRequest
}

// newReviewer starts a webhook. Decide returns why a request is denied, or nothing.
func newReviewer(t *testing.T, decide func(r *admissionv1.AdmissionRequest) string) *reviewer {
	t.Helper()
	hook := &reviewer{}
	hook.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		why := decide(review.Request)
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: why == "", Result: &metav1.Status{Message: why, Code: http.StatusForbidden}}
		if why == "" {
			hook.mu.Lock()
			hook.allowed = append(hook.allowed, review.Request)
			hook.mu.Unlock()
		}
		review.Request = nil
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(hook.Close)
	hook.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw})
	return hook
}

func (r *reviewer) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.allowed = nil
}

// last is the newest request that it allowed.
func (r *reviewer) last(t *testing.T) *admissionv1.AdmissionRequest {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.allowed) == 0 {
		t.Fatal("the webhook was never asked")
	}
	return r.allowed[len(r.allowed)-1]
}
