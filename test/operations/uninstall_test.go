package operations

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// TestUninstall removes in the order of docs/operations/uninstalling.md, sees what the other order does, and installs again on what
// was left.
func TestUninstall(t *testing.T) {
	ctx := t.Context()
	overlay := artifacts(t, "overlays", "embedded-etcd")
	kubectl(t, "apply", "--server-side", "-k", overlay)
	t.Cleanup(func() { uninstall(t, "embedded-etcd") })
	claim(t)
	data := t.TempDir()
	server, err := hub.StartReplica(ctx, framework.ServerOptions{Name: "uninstall", DataDir: data})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop() })
	if err := hub.Register(ctx, server.Port); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeRegistration(t) })
	namespace := newNamespace(t, nil)
	objects := dynamic.NewForConfigOrDie(hub.AdminConfig()).Resource(profiles).Namespace(namespace)
	created, err := objects.Create(ctx, profile("kept", "kept"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}

	t.Run("the server first", func(t *testing.T) {
		// kubectl remembers which kinds there are.
		kubectl(t, "get", "clusterprofiles", "-A")
		if err := server.Stop(); err != nil {
			t.Fatal(err)
		}
		waiting := newNamespace(t, nil)
		deleteNamespace(t, waiting)
		within(t, requestTimeout, "a namespace that cannot be deleted", func() bool {
			return conditionOf(t, waiting, corev1.NamespaceDeletionDiscoveryFailure) == corev1.ConditionTrue
		})
		wantOutageQuoted(t, waiting)
		removeRegistration(t)
		within(t, requestTimeout, "the namespace to go with the registration", func() bool { return !exists(t, "namespace", waiting) })
		if err := server.Start(ctx); err != nil {
			t.Fatal(err)
		}
		if err := hub.Register(ctx, server.Port); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("the registration first", func(t *testing.T) {
		removeRegistration(t)
		if err := server.Stop(); err != nil {
			t.Fatal(err)
		}
		kubectl(t, "delete", "-n", framework.Namespace, "deployment,statefulset,poddisruptionbudget,networkpolicy", "-l", "app.kubernetes.io/part-of=binnacle")
		within(t, requestTimeout, "our kinds to be gone", func() bool {
			_, err := objects.List(ctx, metav1.ListOptions{})
			return apierrors.IsNotFound(err)
		})
		waiting := newNamespace(t, nil)
		deleteNamespace(t, waiting)
		within(t, requestTimeout, "a namespace to be deleted", func() bool { return !exists(t, "namespace", waiting) })
		if out, _ := kubectl(t, "get", "persistentvolumeclaims", "-n", framework.Namespace, "-o", "name"); out == "" {
			t.Error("the claim is gone")
		}
	})
	t.Run("again", func(t *testing.T) {
		kubectl(t, "apply", "--server-side", "-k", overlay)
		if err := server.Start(ctx); err != nil {
			t.Fatal(err)
		}
		if err := hub.Register(ctx, server.Port); err != nil {
			t.Fatal(err)
		}
		found, err := objects.Get(ctx, "kept", metav1.GetOptions{})
		if err != nil || found.GetUID() != created.GetUID() || found.GetResourceVersion() != created.GetResourceVersion() {
			t.Errorf("what was kept: %v, %v", found, err)
		}
	})
}

// wantOutageQuoted looks at an outage as a user does.
func wantOutageQuoted(t *testing.T, waiting string) {
	t.Helper()
	_, said, err := hub.Kubectl(t.Context(), "get", "clusterprofiles", "-A")
	if err == nil {
		t.Error("our kinds are answered without a server")
	}
	wantQuoted(t, said, "Error from server (ServiceUnavailable): the server is currently unable to handle the request (get clusterprofiles.multicluster.x-k8s.io)")
	services, _ := kubectl(t, "get", "apiservices", "-l", "app.kubernetes.io/part-of=binnacle", "-o", "jsonpath={.items[*].status.conditions}")
	wantQuoted(t, services, "FailedDiscoveryCheck")
	wantQuoted(t, services, "connect: connection refused")
	conditions, _ := kubectl(t, "get", "namespace", waiting, "-o", "jsonpath={.status.conditions}")
	wantQuoted(t, conditions, "Discovery failed for some groups, 3 failing: unable to retrieve the complete list of server APIs")
}

// claim is what the controller of StatefulSets, which this hub does not run, makes.
func claim(t *testing.T) {
	t.Helper()
	w := workloadOf(t, "embedded-etcd")
	if !slices.Equal(w.claims, []string{"data"}) {
		t.Fatal(w.claims)
	}
	_, err := client().CoreV1().PersistentVolumeClaims(framework.Namespace).Create(t.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data-binnacle-apiserver-0", Labels: map[string]string{"app.kubernetes.io/part-of": "binnacle"}},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("8Gi")}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// Nothing on this hub would ever take it off.
	kubectl(t, "patch", "persistentvolumeclaim", "data-binnacle-apiserver-0", "-n", framework.Namespace, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
}

// removeRegistration does what the docs say first.
func removeRegistration(t *testing.T) {
	t.Helper()
	kubectl(t, "delete", "apiservices", "-l", "app.kubernetes.io/part-of=binnacle")
	kubectl(t, "delete", "service", "--ignore-not-found", "-n", framework.Namespace, framework.Service)
}

func deleteNamespace(t *testing.T, name string) {
	t.Helper()
	if err := client().CoreV1().Namespaces().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func conditionOf(t *testing.T, namespace string, kind corev1.NamespaceConditionType) corev1.ConditionStatus {
	t.Helper()
	found, err := client().CoreV1().Namespaces().Get(context.WithoutCancel(t.Context()), namespace, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, condition := range found.Status.Conditions {
		if condition.Type == kind && strings.HasPrefix(condition.Message, "Discovery failed for some groups") {
			return condition.Status
		}
	}
	return corev1.ConditionUnknown
}
