package operations

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// TestFlowSchema asks the hub as the server's account, and wants the hub to say that our schema was used: for the questions on behalf of
// callers, and for what the server reads. Another account of the namespace is none of its business.
func TestFlowSchema(t *testing.T) {
	ours, err := client().FlowcontrolV1().FlowSchemas().Get(t.Context(), "binnacle-apiserver", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	within(t, requestTimeout, "the schema's level", func() bool {
		ours, err = client().FlowcontrolV1().FlowSchemas().Get(t.Context(), ours.Name, metav1.GetOptions{})
		for _, condition := range ours.Status.Conditions {
			if condition.Type == flowcontrolv1.FlowSchemaConditionDangling && condition.Status == flowcontrolv1.ConditionFalse {
				return true
			}
		}
		return false
	})
	const review = `{"apiVersion":"%s","kind":"%s","spec":%s}`
	requests := map[string]struct{ path, body string }{
		"SubjectAccessReview": {"/apis/authorization.k8s.io/v1/subjectaccessreviews", fmt.Sprintf(review, "authorization.k8s.io/v1", "SubjectAccessReview",
			`{"user":"somebody","resourceAttributes":{"verb":"get","resource":"pods"}}`)},
		"TokenReview":           {"/apis/authentication.k8s.io/v1/tokenreviews", fmt.Sprintf(review, "authentication.k8s.io/v1", "TokenReview", `{"token":"none"}`)},
		"namespaces":            {"/api/v1/namespaces", ""},
		"one namespace":         {"/api/v1/namespaces/default", ""},
		"configuration":         {"/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication", ""},
		"webhooks":              {"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", ""},
		"a path of no resource": {"/version", ""},
	}
	for name, r := range requests {
		t.Run(name, func(t *testing.T) {
			if got := flowSchemaOf(t, framework.ServiceAccount, r.path, r.body); got != string(ours.UID) {
				t.Errorf("the hub used flow schema %s, ours is %s", got, ours.UID)
			}
		})
	}
	if got := flowSchemaOf(t, "default", "/version", ""); got == string(ours.UID) {
		t.Error("the schema is used for other accounts too")
	}
}

// flowSchemaOf sends a request as a service account of our namespace and returns the UID of the flow schema that the hub used for it.
func flowSchemaOf(t *testing.T, account, path, body string) string {
	t.Helper()
	config, err := hub.ServiceAccountConfig(t.Context(), framework.Namespace, account)
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(t.Context(), method, config.Host+path, bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(response.Body)
	if response.StatusCode >= 300 {
		t.Fatalf("%s: %s", response.Status, answer)
	}
	return response.Header.Get("X-Kubernetes-PF-FlowSchema-UID")
}
