package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	binnacleapi "github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	multiclusterv1alpha1 "github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
)

// started is a Rollout that publishes one slice.
func (d decider) started(name string) *v1alpha1.Rollout {
	d.t.Helper()
	d.create(d.plan(name, 50, 100))
	d.must(name, binnacleapi.VerbAdvance)
	return d.get(name)
}

// TestOthersWriteNoSlices writes to the slices of a Rollout by every way that there is, and wants to be told whose they are.
func TestOthersWriteNoSlices(t *testing.T) {
	onBoth(t, func(t *testing.T, d decider) {
		d.clusters(2)
		rollout := d.started("app")
		slices := d.client.MulticlusterV1alpha1().PlacementDecisions(d.namespace)
		own := d.slices("app")[0]
		owner := metav1.OwnerReference{APIVersion: "binnacle.dev/v1alpha1", Kind: "Rollout", Name: "app", UID: rollout.UID, Controller: new(true)}
		free, err := slices.Create(t.Context(), &multiclusterv1alpha1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Name: "free"}, Decisions: multiclusterv1alpha1.ClusterDecisions{}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for name, write := range map[string]func(context.Context) error{
			"create": func(ctx context.Context) error {
				_, err := slices.Create(ctx, &multiclusterv1alpha1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Name: "more", OwnerReferences: []metav1.OwnerReference{owner}},
					Decisions: multiclusterv1alpha1.ClusterDecisions{}}, metav1.CreateOptions{})
				return err
			},
			"update": func(ctx context.Context) error {
				changed := own.DeepCopy()
				changed.Decisions = multiclusterv1alpha1.ClusterDecisions{}
				_, err := slices.Update(ctx, changed, metav1.UpdateOptions{})
				return err
			},
			"taking the owner away": func(ctx context.Context) error {
				changed := own.DeepCopy()
				changed.OwnerReferences = nil
				_, err := slices.Update(ctx, changed, metav1.UpdateOptions{})
				return err
			},
			"patch": func(ctx context.Context) error {
				_, err := slices.Patch(ctx, own.Name, types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
				return err
			},
			"apply": func(ctx context.Context) error {
				_, err := slices.Patch(ctx, own.Name, types.ApplyYAMLPatchType, []byte(`{"apiVersion":"multicluster.x-k8s.io/v1alpha1","kind":"PlacementDecision","metadata":{"name":"`+own.Name+`","labels":{"a":"b"}},"decisions":[]}`),
					metav1.PatchOptions{FieldManager: "f", Force: new(true)})
				return err
			},
			"adopting a free one": func(ctx context.Context) error {
				changed := free.DeepCopy()
				changed.OwnerReferences = []metav1.OwnerReference{owner}
				_, err := slices.Update(ctx, changed, metav1.UpdateOptions{})
				return err
			},
			"delete": func(ctx context.Context) error { return slices.Delete(ctx, own.Name, metav1.DeleteOptions{}) },
			"dry run of delete": func(ctx context.Context) error {
				return slices.Delete(ctx, own.Name, metav1.DeleteOptions{DryRun: []string{"All"}})
			},
			"deletecollection": func(ctx context.Context) error {
				return slices.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: multiclusterv1alpha1.DecisionKeyLabel + "=app"})
			},
		} {
			if err := write(t.Context()); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), fmt.Sprintf("belongs to Rollout %s/app", d.namespace)) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if now := d.slices("app"); len(now) != 1 || now[0].ResourceVersion != own.ResourceVersion {
			t.Errorf("the slices are %+v", now)
		}
		// A reference to a Rollout that there is not, or not any more, protects nothing.
		owner.UID = "another"
		if _, err := slices.Create(t.Context(), &multiclusterv1alpha1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Name: "stray", OwnerReferences: []metav1.OwnerReference{owner}},
			Decisions: multiclusterv1alpha1.ClusterDecisions{}}, metav1.CreateOptions{}); err != nil {
			t.Errorf("a slice of a Rollout that was: %v", err)
		}
	})
}

// TestSliceNamesOfOthers wants a Rollout whose slices would have names that are taken to be refused before anything changes.
func TestSliceNamesOfOthers(t *testing.T) {
	onBoth(t, func(t *testing.T, d decider) {
		d.clusters(2)
		if _, err := d.client.MulticlusterV1alpha1().PlacementDecisions(d.namespace).Create(t.Context(), &multiclusterv1alpha1.PlacementDecision{
			ObjectMeta: metav1.ObjectMeta{Name: "app-0"}, Decisions: multiclusterv1alpha1.ClusterDecisions{}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		d.create(d.plan("app", 100))
		if _, err := d.try("app", binnacleapi.VerbAdvance, v1alpha1.RolloutActionSpec{}); causeOf(err) != "NameTaken" || !strings.Contains(err.Error(), "app-0") {
			t.Errorf("advance: %v", err)
		}
		if r := d.get("app"); r.Status.Phase != v1alpha1.RolloutPending {
			t.Errorf("it is %s", r.Status.Phase)
		}
	})
}

// TestDeletionOfRollouts deletes Rollouts by each policy, on the hub by its garbage collector and elsewhere by the server itself.
func TestDeletionOfRollouts(t *testing.T) {
	onBoth(t, func(t *testing.T, d decider) {
		d.clusters(2)
		for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan} {
			name := strings.ToLower(string(policy))
			d.started(name)
			if err := d.rollouts().Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
				t.Fatal(err)
			}
			within(t, collected, name+": the Rollout to be gone", func() bool {
				_, err := d.rollouts().Get(t.Context(), name, metav1.GetOptions{})
				return apierrors.IsNotFound(err)
			})
			if policy == metav1.DeletePropagationOrphan {
				if left := d.slices(name); len(left) != 1 || len(left[0].OwnerReferences) != 0 {
					t.Errorf("an orphan is %+v", left)
				}
				continue
			}
			within(t, collected, name+": the slices to be gone", func() bool { return len(d.slices(name)) == 0 })
		}
		d.started("one")
		d.started("two")
		if err := d.rollouts().DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
		within(t, collected, "the slices of all to be gone", func() bool { return len(d.slices("one"))+len(d.slices("two")) == 0 })
	})
}

// TestNamespaceOfRolloutsGoes deletes a namespace with a Rollout in the middle of its way.
func TestNamespaceOfRolloutsGoes(t *testing.T) {
	namespaces := kubernetes.NewForConfigOrDie(hub.AdminConfig()).CoreV1().Namespaces()
	created, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d := newDecider(t, hub.AdminConfig(), created.Name)
	d.clusters(2)
	d.started("app")
	if err := namespaces.Delete(t.Context(), d.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	within(t, collected, "the namespace to be gone", func() bool {
		_, err := namespaces.Get(t.Context(), d.namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}
