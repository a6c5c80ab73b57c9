// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// TestHub needs the hub's binaries, which take minutes to build, so it runs only where they were named.
func TestHub(t *testing.T) {
	if os.Getenv(ToolsDirEnv) == "" {
		t.Skip("set " + ToolsDirEnv + " to the folder that hack/tools/build.sh prints")
	}
	ctx := t.Context()
	hub, err := StartHub(ctx, HubOptions{Dir: t.TempDir(), Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hub.Stop(); err != nil {
			t.Error(err)
		}
	})
	admin := kubernetes.NewForConfigOrDie(hub.AdminConfig())

	t.Run("a user has the rights that were granted and no others", func(t *testing.T) {
		alice := kubernetes.NewForConfigOrDie(hub.ConfigFor("alice", "developers"))
		if _, err := alice.CoreV1().Namespaces().List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			t.Fatalf("list before the grant: got %v, want forbidden", err)
		}
		_, err := admin.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "developers-view"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "developers"}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, func() error {
			_, err := alice.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
			return err
		})
	})

	t.Run("controllers work", func(t *testing.T) {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "short-lived"}}
		if _, err := admin.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() error {
			_, err := admin.CoreV1().ServiceAccounts(ns.Name).Get(ctx, "default", metav1.GetOptions{})
			return err
		})
		if err := admin.CoreV1().Namespaces().Delete(ctx, ns.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() error {
			_, err := admin.CoreV1().Namespaces().Get(ctx, ns.Name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return cmp.Or(err, errors.New("the namespace is still there"))
		})
	})

	t.Run("the artifacts install twice and their roles aggregate", func(t *testing.T) {
		for range 2 {
			if err := hub.Install(ctx); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, func() error {
			out, _, err := hub.Kubectl(ctx, "get", "clusterroles", "view", "edit", "admin", "-o", "yaml")
			if err == nil && strings.Count(out, "placementdecisions") < 6 { // each holds those below it
				return errors.New("not aggregated: " + out)
			}
			return err
		})
		config, err := hub.ServiceAccountConfig(ctx, Namespace, ServiceAccount)
		if err != nil {
			t.Fatal(err)
		}
		me, err := kubernetes.NewForConfigOrDie(config).AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := me.Status.UserInfo.Username, "system:serviceaccount:binnacle-system:binnacle-apiserver"; got != want {
			t.Errorf("got user %q, want %q", got, want)
		}
	})

	t.Run("a port that is taken is named", func(t *testing.T) {
		_, err := StartHub(ctx, HubOptions{Dir: t.TempDir(), Port: hub.Port})
		if err == nil || !strings.Contains(err.Error(), "is taken") {
			t.Errorf("got %v", err)
		}
	})

	t.Run("a second start in the same folder continues with the data", func(t *testing.T) {
		if err := hub.Stop(); err != nil {
			t.Fatal(err)
		}
		if left, _ := filepath.Glob(filepath.Join(hub.Dir(), "run", "*")); len(left) > 0 {
			t.Errorf("records of stopped processes are left: %v", left)
		}
		again, err := StartHub(ctx, HubOptions{Dir: hub.Dir(), Log: t.Output()})
		if err != nil {
			t.Fatal(err)
		}
		defer again.Stop()
		if _, err := kubernetes.NewForConfigOrDie(again.AdminConfig()).CoreV1().Namespaces().Get(ctx, Namespace, metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	})
}

func eventually(t *testing.T, cond func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(pollInterval) {
		if err = cond(); err == nil {
			return
		}
	}
	t.Fatal(err)
}
