package integration

import (
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// collected bounds how long garbage may stay.
const collected = 60 * time.Second

const hold = "example.com/hold"

// ownable is a kind that may own and be owned: ours, and one of the hub's own.
type ownable struct {
	resource schema.GroupVersionResource
	kind     string
	content  map[string]any
}

var ownables = []ownable{
	{schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "ConfigMap", nil},
	{schema.GroupVersionResource{Group: ours, Version: "v1alpha1", Resource: "clusterprofiles"}, "ClusterProfile",
		map[string]any{"spec": map[string]any{"clusterManager": map[string]any{"name": "m"}}}},
	{schema.GroupVersionResource{Group: ours, Version: "v1alpha2", Resource: "placementdecisions"}, "PlacementDecision", map[string]any{"decisions": []any{}}},
}

// yard is a namespace in which objects own one another.
type yard struct {
	t         *testing.T
	client    dynamic.Interface
	namespace string
}

func newYard(t *testing.T, config *rest.Config, namespace string) yard {
	t.Helper()
	return yard{t, dynamic.NewForConfigOrDie(config), namespace}
}

// object is one in a yard.
type object struct {
	yard
	ownable
	name string
	uid  types.UID
}

// owned refers to an owner. It holds the owner back in a foreground deletion, or does not.
func (o object) owned(blocks bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: o.resource.GroupVersion().String(), Kind: o.kind, Name: o.name, UID: o.uid, BlockOwnerDeletion: &blocks}
}

func (y yard) add(kind ownable, name string, finalizers []string, owners ...metav1.OwnerReference) object {
	y.t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(kind.resource.GroupVersion().String())
	u.SetKind(kind.kind)
	u.SetName(name)
	u.SetFinalizers(finalizers)
	u.SetOwnerReferences(owners)
	for key, value := range kind.content {
		u.Object[key] = value
	}
	created, err := y.client.Resource(kind.resource).Namespace(y.namespace).Create(y.t.Context(), u, metav1.CreateOptions{})
	if err != nil {
		y.t.Fatal(err)
	}
	return object{y, kind, name, created.GetUID()}
}

// now returns the object as it is, nil when it is gone.
func (o object) now() *unstructured.Unstructured {
	o.t.Helper()
	u, err := o.client.Resource(o.resource).Namespace(o.namespace).Get(o.t.Context(), o.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && u.GetUID() != o.uid {
		return nil
	}
	if err != nil {
		o.t.Fatal(err)
	}
	return u
}

func (o object) delete(policy metav1.DeletionPropagation) {
	o.t.Helper()
	if err := o.client.Resource(o.resource).Namespace(o.namespace).Delete(o.t.Context(), o.name, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		o.t.Fatal(err)
	}
}

func (o object) release() {
	o.t.Helper()
	if _, err := o.client.Resource(o.resource).Namespace(o.namespace).Patch(o.t.Context(), o.name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		o.t.Fatal(err)
	}
}

func (o object) isGone() bool  { return o.now() == nil }
func (o object) isGoing() bool { u := o.now(); return u != nil && u.GetDeletionTimestamp() != nil }

// family is an owner with its dependents, beside an owner that lives and keeps its own.
type family struct {
	name                                  string
	owner, other, dependent, shared, kept object
	free                                  object // does not hold the owner back
}

func (y yard) family(name string, owner, dependent ownable, finalizers ...string) family {
	f := family{name: name}
	f.owner, f.other = y.add(owner, name+"-owner", nil), y.add(owner, name+"-other", nil)
	f.dependent = y.add(dependent, name+"-dependent", finalizers, f.owner.owned(true))
	f.free = y.add(dependent, name+"-free", finalizers, f.owner.owned(false))
	f.shared = y.add(dependent, name+"-shared", nil, f.owner.owned(true), f.other.owned(true))
	f.kept = y.add(dependent, name+"-kept", nil, f.other.owned(true))
	return f
}

// lives wants everything there whose owner is, and no more owners than there are.
func (f family) lives(t *testing.T) {
	t.Helper()
	within(t, collected, f.name+": one owner of the shared dependent", func() bool {
		shared := f.shared.now()
		if shared == nil {
			t.Fatalf("%s: a dependent with a live owner was collected", f.name)
		}
		return len(shared.GetOwnerReferences()) == 1 && shared.GetOwnerReferences()[0].UID == f.other.uid
	})
	if kept := f.kept.now(); kept == nil || kept.GetDeletionTimestamp() != nil || len(kept.GetOwnerReferences()) != 1 || f.other.isGone() {
		t.Errorf("%s: the dependent of a live owner is %v", f.name, kept)
	}
}

// TestGarbageCollection has the hub collect across its kinds and ours, in both directions, by each policy.
func TestGarbageCollection(t *testing.T) {
	y := newYard(t, hub.AdminConfig(), newNamespace(t))
	warm(t, y)
	for i, owner := range ownables {
		for j, dependent := range ownables {
			if i == 0 && j == 0 {
				continue // the hub's own affair
			}
			name := fmt.Sprint("o", i, "d", j)
			t.Run(owner.kind+" owns "+dependent.kind, func(t *testing.T) {
				y := y
				y.t = t
				y.background(y.family(name+"b", owner, dependent))
				y.orphan(y.family(name+"o", owner, dependent))
				y.foreground(y.family(name+"f", owner, dependent, hold))
			})
		}
	}
}

// warm waits until the collector watches our kinds.
func warm(t *testing.T, y yard) {
	t.Helper()
	for i, kind := range ownables[1:] {
		owner := y.add(ownables[0], fmt.Sprint("warm-", i), nil)
		dependent := y.add(kind, fmt.Sprint("warm-", i), nil, owner.owned(true))
		owner.delete(metav1.DeletePropagationBackground)
		within(t, countDelay, kind.kind+" to be watched", dependent.isGone)
	}
}

func (y yard) background(f family) {
	f.owner.delete(metav1.DeletePropagationBackground)
	if !f.owner.isGone() {
		y.t.Errorf("%s: the owner waits", f.name)
	}
	within(y.t, collected, "dependents to be collected", func() bool { return f.dependent.isGone() && f.free.isGone() })
	f.lives(y.t)
}

func (y yard) orphan(f family) {
	f.owner.delete(metav1.DeletePropagationOrphan)
	within(y.t, collected, "the owner to be gone", f.owner.isGone)
	for _, o := range []object{f.dependent, f.free} {
		if u := o.now(); u == nil || len(u.GetOwnerReferences()) != 0 || u.GetDeletionTimestamp() != nil {
			y.t.Errorf("%s: an orphan is %v", f.name, u)
		}
	}
	f.lives(y.t)
}

// foreground lets the owner wait for the dependent that blocks it, and not for the one that does not.
func (y yard) foreground(f family) {
	f.owner.delete(metav1.DeletePropagationForeground)
	within(y.t, collected, "dependents to be on their way", func() bool { return f.dependent.isGoing() && f.free.isGoing() })
	owner := f.owner.now()
	if owner == nil || owner.GetDeletionTimestamp() == nil || len(owner.GetFinalizers()) != 1 || owner.GetFinalizers()[0] != metav1.FinalizerDeleteDependents {
		y.t.Errorf("%s: the owner of a dependent that blocks is %v", f.name, owner)
	}
	f.dependent.release()
	within(y.t, collected, "the owner to be gone", f.owner.isGone)
	if !f.dependent.isGone() || !f.free.isGoing() {
		y.t.Errorf("%s: the owner went before its dependent, or waited for the other", f.name)
	}
	f.free.release()
	within(y.t, collected, "the other dependent to be gone", f.free.isGone)
	f.lives(y.t)
}

// TestKubectlDelete waits for the end of an object of each kind, and of what it owns.
func TestKubectlDelete(t *testing.T) {
	c := newCLI(t)
	y := newYard(t, hub.AdminConfig(), c.namespace)
	warm(t, y)
	for _, kind := range ownables[1:] {
		for _, cascade := range []string{"background", "foreground", "orphan"} {
			owner := y.add(kind, cascade, nil)
			dependent := y.add(ownables[0], kind.resource.Resource+"-"+cascade, nil, owner.owned(true))
			started := time.Now()
			c.must("", "delete", kind.resource.Resource, cascade, "--wait", "--cascade="+cascade, "--timeout=30s")
			t.Logf("%s --cascade=%s: %s", kind.kind, cascade, time.Since(started).Round(time.Millisecond))
			if !owner.isGone() {
				t.Errorf("%s --cascade=%s: kubectl came back before the object was gone", kind.kind, cascade)
			}
			switch u := dependent.now(); {
			case cascade == "foreground" && u != nil:
				t.Errorf("%s: the dependent outlived a foreground deletion", kind.kind)
			case cascade == "orphan" && (u == nil || len(u.GetOwnerReferences()) > 0):
				t.Errorf("%s: the orphan is %v", kind.kind, u)
			}
			if cascade == "background" {
				within(t, collected, "the dependent to be gone", dependent.isGone)
			}
		}
	}
}
