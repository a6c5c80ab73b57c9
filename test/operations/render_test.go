package operations

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// workloads are the overlays that hold one, and registrations what makes the hub send requests to it.
var (
	workloads     = []string{"external-etcd", "external-etcd-cert-manager", "embedded-etcd", "embedded-etcd-cert-manager"}
	registrations = []string{"registration", "overlays/registration-cert-manager"}
)

// rendered returns the objects that kubectl makes of a folder of artifacts.
func rendered(t *testing.T, dir string) []*unstructured.Unstructured {
	t.Helper()
	out, _ := kubectl(t, "kustomize", artifacts(t, dir))
	objects, err := framework.SplitManifests([]byte(out))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// ofKind returns the objects of a kind. A field that the kind does not have is an error.
func ofKind[T any](t *testing.T, objects []*unstructured.Unstructured, kind string) []T {
	t.Helper()
	var all []T
	for _, object := range objects {
		if object.GetKind() != kind {
			continue
		}
		var one T
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &one, true); err != nil {
			t.Fatalf("%s %s: %v", kind, object.GetName(), err)
		}
		all = append(all, one)
	}
	return all
}

// workload is what the tests need of a Deployment or a StatefulSet.
type workload struct {
	overlay  string
	objects  []*unstructured.Unstructured
	replicas int32
	template corev1.PodTemplateSpec
	// claims are the volumes that a StatefulSet adds.
	claims []string
}

func (w workload) container() corev1.Container { return w.template.Spec.Containers[0] }

func workloadOf(t *testing.T, overlay string) workload {
	t.Helper()
	w := workload{overlay: overlay, objects: rendered(t, filepath.Join("overlays", overlay))}
	deployments, sets := ofKind[appsv1.Deployment](t, w.objects, "Deployment"), ofKind[appsv1.StatefulSet](t, w.objects, "StatefulSet")
	if len(deployments)+len(sets) != 1 {
		t.Fatalf("%s has %d workloads", overlay, len(deployments)+len(sets))
	}
	for _, d := range deployments {
		w.replicas, w.template = *d.Spec.Replicas, d.Spec.Template
	}
	for _, s := range sets {
		w.replicas, w.template = *s.Spec.Replicas, s.Spec.Template
		for _, claim := range s.Spec.VolumeClaimTemplates {
			w.claims = append(w.claims, claim.Name)
		}
	}
	return w
}

// TestOverlaysAreAccepted applies every overlay to a hub twice. A warning counts as a failure: pod security and deprecated fields are
// answered with one.
func TestOverlaysAreAccepted(t *testing.T) {
	kubectl(t, "apply", "-f", "testdata/cert-manager-crds.yaml")
	kubectl(t, "wait", "--for=condition=Established", "--timeout=30s", "-f", "testdata/cert-manager-crds.yaml")
	t.Cleanup(func() { kubectl(t, "delete", "-f", "testdata/cert-manager-crds.yaml") })
	overlays := append(slices.Clone(workloads), "managed-certificate")
	t.Cleanup(func() { uninstall(t, overlays...) })
	for _, overlay := range overlays {
		t.Run(overlay, func(t *testing.T) {
			for range 2 {
				if _, said := kubectl(t, "apply", "--server-side", "-k", artifacts(t, "overlays", overlay)); strings.Contains(said, "Warning") {
					t.Error(said)
				}
			}
		})
	}
}

// uninstall removes overlays, and puts base back for the other tests.
func uninstall(t *testing.T, overlays ...string) {
	t.Helper()
	for _, overlay := range overlays {
		kubectl(t, "delete", "--ignore-not-found", "--wait=false", "-k", artifacts(t, "overlays", overlay))
	}
	within(t, requestTimeout, "the namespace to be gone", func() bool { return !exists(t, "namespace", framework.Namespace) })
	if err := hub.Install(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// TestLabels wants every object to be found by the label of the whole, and nothing of ours without a name of ours.
func TestLabels(t *testing.T) {
	dirs := append(slices.Clone(registrations), "restore")
	for _, overlay := range workloads {
		dirs = append(dirs, filepath.Join("overlays", overlay))
	}
	for _, dir := range dirs {
		for _, object := range rendered(t, dir) {
			labels := object.GetLabels()
			if labels["app.kubernetes.io/part-of"] != "binnacle" {
				t.Errorf("%s: %s %s is not part of binnacle", dir, object.GetKind(), object.GetName())
			}
			if name, ok := labels["app.kubernetes.io/name"]; ok && name != "binnacle-apiserver" {
				t.Errorf("%s: %s %s is called %s", dir, object.GetKind(), object.GetName(), name)
			}
			if namespace := object.GetNamespace(); namespace != "" && namespace != framework.Namespace && namespace != "kube-system" {
				t.Errorf("%s: %s %s is in %s", dir, object.GetKind(), object.GetName(), namespace)
			}
		}
	}
}
