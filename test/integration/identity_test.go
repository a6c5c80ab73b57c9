package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// TestIdentityThroughHub compares, for each way to be somebody on a hub, who the hub and who our audit say that the caller is, on hubs
// that pass on UIDs and on one that does not (cases.md, 41).
func TestIdentityThroughHub(t *testing.T) {
	for _, withoutUIDs := range []bool{false, true} {
		t.Run(fmt.Sprint("without UIDs: ", withoutUIDs), func(t *testing.T) {
			own, err := framework.StartHub(t.Context(), framework.HubOptions{Dir: t.TempDir(), WithoutUIDs: withoutUIDs})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = own.Stop() })
			auditLog := filepath.Join(t.TempDir(), "audit.log")
			policy := file(t, "policy.yaml", `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}]}`)
			if _, err := own.StartBinnacle(t.Context(), framework.ServerOptions{Flags: []string{"--audit-policy-file=" + policy, "--audit-log-path=" + auditLog}}); err != nil {
				t.Fatal(err)
			}
			if _, err := kubernetes.NewForConfigOrDie(own.AdminConfig()).RbacV1().RoleBindings("default").Create(t.Context(), &rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: "everybody"},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "binnacle-view"},
				Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:authenticated"}},
			}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			for name, config := range identities(t, own) {
				t.Run(name, func(t *testing.T) { testIdentity(t, config, auditLog, withoutUIDs) })
			}
		})
	}
}

// identities are clients of a hub, each another kind of user.
func identities(t *testing.T, own *framework.Hub) map[string]*rest.Config {
	t.Helper()
	serviceAccount, err := own.ServiceAccountConfig(t.Context(), "default", "default")
	if err != nil {
		t.Fatal(err)
	}
	as := func(c rest.ImpersonationConfig) *rest.Config {
		config := own.AdminConfig()
		config.Impersonate = c
		return config
	}
	return map[string]*rest.Config{
		"service account":       serviceAccount,
		"certificate":           own.ConfigFor("some body", "group one", "gruppe-ä"),
		"administrator":         own.AdminConfig(),
		"as somebody":           as(rest.ImpersonationConfig{UserName: "somebody"}),
		"as somebody in groups": as(rest.ImpersonationConfig{UserName: "https://issuer.example.com#4711", Groups: []string{"oidc:a", "oidc:b c"}}),
		"as a UID":              as(rest.ImpersonationConfig{UserName: "somebody", UID: "a1b2/c3 d4"}),
		"with extras": as(rest.ImpersonationConfig{UserName: "somebody", UID: "u", Groups: []string{"g"}, Extra: map[string][]string{
			"scopes": {"read", "write"}, "example.com/path%2Fof:it": {"a=b&c", "ü ö"}, "größe": {"3"}, "empty": {""},
		}}),
	}
}

func testIdentity(t *testing.T, config *rest.Config, auditLog string, withoutUIDs bool) {
	self, err := kubernetes.NewForConfigOrDie(config).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := self.Status.UserInfo
	if withoutUIDs {
		want.UID = ""
	}
	// It ends with a letter that no number has, so that none begins with another.
	mark := fmt.Sprintf("mark-%x-z", t.Name())
	a := newCaller(t, config, ours, "default", "v1alpha2").do(get("clusterprofiles?fieldSelector=metadata.name%3D" + mark))
	if a.code != http.StatusOK {
		t.Fatalf("%d %s", a.code, a.raw)
	}
	var got authenticationv1.UserInfo
	eventually(t, "our audit to tell of the request", func() bool {
		log, err := os.ReadFile(auditLog)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range bytes.Split(log, []byte("\n")) {
			var event auditv1.Event
			if bytes.Contains(line, []byte(mark)) && json.Unmarshal(line, &event) == nil {
				got = event.User
				return true
			}
		}
		return false
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("who the caller is (-hub +ours):\n%s", diff)
	}
}
