package integration

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// letReport lets a subject report in a namespace: for the clusters that are named, or for all.
func letReport(t *testing.T, h *framework.Hub, namespace string, subject rbacv1.Subject, clusters ...string) *rbacv1.RoleBinding {
	t.Helper()
	rbac := kubernetes.NewForConfigOrDie(h.AdminConfig()).RbacV1()
	role, err := rbac.Roles(namespace).Create(t.Context(), &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "reporters-"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{ownGroup}, Resources: []string{"clusterstatuses/report"}, Verbs: []string{"create"}, ResourceNames: clusters}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	subject.APIGroup = rbacv1.GroupName
	binding, err := rbac.RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "reporters-"}, Subjects: []rbacv1.Subject{subject},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return binding
}

// TestReporterRights gives an identity the one right that a cluster has, and wants it to be able to use that and nothing else, through the
// hub and past it.
func TestReporterRights(t *testing.T) {
	t.Parallel()
	f := hubFleet(t)
	f.add("x", "y")
	letReport(t, hub, f.namespace, rbacv1.Subject{Kind: rbacv1.UserKind, Name: "agent-of-x"}, "x")
	for where, config := range map[string]*rest.Config{"hub": hub.ConfigFor("agent-of-x"), "server": server.ConfigFor("agent-of-x")} {
		agent := newFleet(t, config, f.namespace)
		eventually(t, "the right to be there", func() bool { return agent.statuses.do(reportOf("x", rarely)).code != http.StatusForbidden })
		agent.report("x", rarely)
		for _, r := range []request{
			reportOf("y", rarely), reportOf("none", rarely), get("clusterstatuses/x"), get("clusterstatuses/x/report"), get("clusterstatuses"), get("clusterstatuses?watch=true&timeoutSeconds=1"),
			get("/apis/GROUP/VERSION/clusterstatuses"), get("/apis/multicluster.x-k8s.io/v1alpha2/namespaces/NS/clusterprofiles/x"), get("/apis/multicluster.x-k8s.io/v1alpha2/namespaces/NS/clusterprofiles"),
			{method: http.MethodPatch, path: "/apis/multicluster.x-k8s.io/v1alpha2/namespaces/NS/clusterprofiles/x/status", contentType: mergePatch, body: `{"status":{}}`},
			{method: http.MethodDelete, path: "/apis/multicluster.x-k8s.io/v1alpha2/namespaces/NS/clusterprofiles/x"},
			post("/apis/GROUP/VERSION/namespaces/elsewhere/clusterstatuses/x/report", "{}"),
			{method: http.MethodPut, path: "clusterstatuses/x/report", contentType: jsonType, body: "{}"}, {method: http.MethodDelete, path: "clusterstatuses/x"},
		} {
			if a := agent.statuses.do(r); a.code != http.StatusForbidden {
				t.Errorf("%s: %s %s: %d %s", where, r.method, r.path, a.code, shorten(string(a.raw)))
			}
		}
		body := reportOf("x", rarely)
		body.body = strings.Replace(body.body, `"spec"`, `"metadata":{"name":"y"},"spec"`, 1)
		if a := agent.statuses.do(body); a.code != http.StatusBadRequest {
			t.Errorf("%s: another cluster in the body: %d %s", where, a.code, a.raw)
		}
		nobody := rest.AnonymousClientConfig(config)
		nobody.CAData = hub.ServingCA.PEM()
		anonymous := newFleet(t, nobody, f.namespace)
		for _, r := range []request{reportOf("x", rarely), get("clusterstatuses")} {
			// The hub knows anonymous callers, and lets them do nothing.
			if a := anonymous.statuses.do(r); a.code != http.StatusUnauthorized && (where == "server" || a.code != http.StatusForbidden) {
				t.Errorf("%s: anonymous: %s %s: %d %s", where, r.method, r.path, a.code, shorten(string(a.raw)))
			}
		}
	}
	f.untilPhase("x", "Ready")
	if a := f.status("y"); a.field("status", "phase") != "Unknown" {
		t.Errorf("somebody reported for y: %s", a.raw)
	}
}

// TestFlowSchemaOfReports wants the hub to have reports at the level that is made for them, and what else a reporter asks not
// (artifacts/base/flowschema.yaml).
func TestFlowSchemaOfReports(t *testing.T) {
	t.Parallel()
	schema, err := kubernetes.NewForConfigOrDie(hub.AdminConfig()).FlowcontrolV1().FlowSchemas().Get(t.Context(), "binnacle-reports", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f := hubFleet(t)
	f.add("x")
	letReport(t, hub, f.namespace, rbacv1.Subject{Kind: rbacv1.UserKind, Name: "agent-of-a-level"}, "x")
	agent := newFleet(t, hub.ConfigFor("agent-of-a-level"), f.namespace)
	used := func(a answer) bool {
		return slices.Contains(a.header.Values("X-Kubernetes-Pf-Flowschema-Uid"), string(schema.UID))
	}
	eventually(t, "a report at its level", func() bool {
		a := agent.statuses.do(reportOf("x", rarely))
		return a.code == http.StatusCreated && used(a)
	})
	for _, r := range []request{get("clusterstatuses"), get("clusterstatuses/x/report")} {
		if a := agent.statuses.do(r); used(a) {
			t.Errorf("%s has the level of reports too: %v", r.path, a.header)
		}
	}
}
