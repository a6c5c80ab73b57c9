package integration

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// TestReadyzNamesAMissingRight takes one resource at a time out of the role that artifacts/ grants, and wants a server that is not ready
// and says for which resource, and that becomes ready by itself when the right is granted.
func TestReadyzNamesAMissingRight(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(hub.AdminConfig())
	granted, err := client.RbacV1().ClusterRoles().Get(t.Context(), framework.ServiceAccount, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var resources int
	for i, rule := range granted.Rules {
		for j, resource := range rule.Resources {
			resources++
			t.Run(resource, func(t *testing.T) {
				rules := append([]rbacv1.PolicyRule{}, granted.Rules...)
				rules[i] = *rule.DeepCopy()
				rules[i].Resources = append(rules[i].Resources[:j:j], rules[i].Resources[j+1:]...)
				if len(rules[i].Resources) == 0 {
					rules = append(rules[:i:i], rules[i+1:]...)
				}
				testMissingRight(t, client, resource, rule.APIGroups[0], rules, granted.Rules)
			})
		}
	}
	if resources < 11 {
		t.Errorf("the role has only %d resources", resources)
	}
}

func testMissingRight(t *testing.T, client kubernetes.Interface, resource, group string, without, with []rbacv1.PolicyRule) {
	user := "limited-" + strings.ReplaceAll(resource, "/", "-")
	grant(t, client, user, without)
	kubeconfig, err := hub.Kubeconfig(user)
	if err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	runServer(t, "--data-dir="+t.TempDir(), "--bind-address=127.0.0.1", fmt.Sprint("--secure-port=", port),
		"--kubeconfig="+kubeconfig, "--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig)
	name := resource
	if group != "" {
		name += "." + group
	}
	failing := regexp.MustCompile(`(?m)^\[-\]hub-access-(\S+) failed`)
	asked := regexp.MustCompile(`(?m)^\[\+\]hub-access-`)
	eventually(t, "not ready for the missing right alone", func() bool {
		code, text := readyz(t, port)
		found := failing.FindAllStringSubmatch(text, -1)
		return code == http.StatusInternalServerError && len(found) == 1 && found[0][1] == name && len(asked.FindAllString(text, -1)) > 5
	})
	role, err := client.RbacV1().ClusterRoles().Get(t.Context(), user, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	role.Rules = with
	if _, err := client.RbacV1().ClusterRoles().Update(t.Context(), role, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "ready", func() bool {
		code, _ := readyz(t, port)
		return code == http.StatusOK
	})
}

// runServer starts a server whose certificate the framework does not know, and stops it after the test.
func runServer(t *testing.T, flags ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary(t), flags...)
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
}

// readyz asks a server that serves under a certificate of its own.
func readyz(t *testing.T, port int) (int, string) {
	t.Helper()
	// The certificate is the server's own, of which nobody knows the CA; what is asked is no secret.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	resp, err := client.Get(fmt.Sprintf("https://127.0.0.1:%d/readyz?verbose", port))
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text)
}

// grant gives a user rules of its own, and what delegation needs.
func grant(t *testing.T, client kubernetes.Interface, user string, rules []rbacv1.PolicyRule) {
	t.Helper()
	rbac := client.RbacV1()
	meta := metav1.ObjectMeta{Name: user}
	subject := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}}
	clusterRole := func(name string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
	}
	ctx := context.WithoutCancel(t.Context())
	if _, err := rbac.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rbac.ClusterRoles().Delete(ctx, user, metav1.DeleteOptions{}) })
	for name, ref := range map[string]rbacv1.RoleRef{user: clusterRole(user), user + "-delegator": clusterRole("system:auth-delegator")} {
		if _, err := rbac.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: subject, RoleRef: ref}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = rbac.ClusterRoleBindings().Delete(ctx, name, metav1.DeleteOptions{}) })
	}
	binding := &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subject, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "extension-apiserver-authentication-reader"}}
	if _, err := rbac.RoleBindings("kube-system").Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rbac.RoleBindings("kube-system").Delete(ctx, user, metav1.DeleteOptions{}) })
}
