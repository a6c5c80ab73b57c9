package rest

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/embeddedetcd"
	"github.com/binnacle-dev/binnacle/pkg/registry/multicluster/clusterprofile"
	"github.com/binnacle-dev/binnacle/pkg/registry/multicluster/placementdecision"
	"github.com/binnacle-dev/binnacle/pkg/registry/store"
)

// stores are the storages of a version over an etcd of their own.
type stores struct {
	profiles  *clusterprofile.REST
	status    *clusterprofile.StatusREST
	decisions *placementdecision.REST
}

func newStores(t *testing.T) stores {
	t.Helper()
	etcd, err := embeddedetcd.Start(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(etcd.Stop)
	scheme := newScheme()
	wire := protobuf.NewSerializer(scheme, scheme)
	codec := serializer.NewCodecFactory(scheme).CodecForVersions(wire, wire, v1alpha1.SchemeGroupVersion, multicluster.SchemeGroupVersion)
	config := storagebackend.NewDefaultConfig("/test", codec)
	config.Transport.ServerList = []string{etcd.Endpoint()}
	storages, _, err := NewStorage(scheme, everything(), optionsGetter{*config, generic.UndecoratedStorage})
	if err != nil {
		t.Fatal(err)
	}
	served := storages["v1alpha1"]
	for _, resource := range served {
		t.Cleanup(resource.Destroy)
	}
	return stores{served["clusterprofiles"].(*clusterprofile.REST), served["clusterprofiles/status"].(*clusterprofile.StatusREST),
		served["placementdecisions"].(*placementdecision.REST)}
}

func in(t *testing.T, resource, subresource string) context.Context {
	t.Helper()
	return request.WithRequestInfo(request.WithNamespace(t.Context(), "fleet"), &request.RequestInfo{IsResourceRequest: true,
		APIGroup: multicluster.GroupName, APIVersion: "v1alpha1", Resource: resource, Subresource: subresource})
}

func create(ctx context.Context, s rest.Creater, obj runtime.Object) (runtime.Object, error) {
	return s.Create(ctx, obj, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
}

func update(ctx context.Context, s rest.Updater, name string, obj runtime.Object) (runtime.Object, error) {
	updated, _, err := s.Update(ctx, name, rest.DefaultUpdatedObjectInfo(obj), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	return updated, err
}

func newProfile() *multicluster.ClusterProfile {
	return &multicluster.ClusterProfile{ObjectMeta: metav1.ObjectMeta{Name: "atlas"},
		Spec: multicluster.ClusterProfileSpec{ClusterManager: multicluster.ClusterManager{Name: ptr.To("fleet-manager")}}}
}

func newDecision(decisions multicluster.ClusterDecisions) *multicluster.PlacementDecision {
	return &multicluster.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Name: "payments-0"}, Decisions: decisions}
}

// TestStatusIsWrittenAlone follows a profile through its two resources.
func TestStatusIsWrittenAlone(t *testing.T) {
	s := newStores(t)
	ctx, statusCtx := in(t, "clusterprofiles", ""), in(t, "clusterprofiles", "status")
	if _, err := update(statusCtx, s.status, "atlas", newProfile()); !apierrors.IsNotFound(err) {
		t.Errorf("status of a missing profile: %v", err)
	}
	first := newProfile()
	properties := []multicluster.Property{{Name: "cpu", Value: "8"}}
	first.Status.Properties = properties
	obj, err := create(ctx, s.profiles, first)
	if err != nil {
		t.Fatal(err)
	}
	profile := obj.(*multicluster.ClusterProfile)
	if len(profile.Status.Properties) > 0 || profile.Generation != 1 || profile.UID == "" {
		t.Errorf("created %+v", profile)
	}
	profile.Status.Properties = properties
	profile.Spec.DisplayName, profile.Labels = "ignored", map[string]string{"ignored": "yes"}
	if obj, err = update(statusCtx, s.status, "atlas", profile); err != nil {
		t.Fatal(err)
	}
	written := obj.(*multicluster.ClusterProfile)
	if len(written.Status.Properties) != 1 || written.Spec.DisplayName != "" || written.Labels != nil || written.Generation != 1 {
		t.Errorf("after the status was written: %+v", written)
	}
	read, err := s.status.Get(statusCtx, "atlas", &metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(written, read); diff != "" {
		t.Errorf("get of the status (-written +read):\n%s", diff)
	}
	written.Spec.DisplayName, written.Status = "Atlas", multicluster.ClusterProfileStatus{}
	if obj, err = update(ctx, s.profiles, "atlas", written); err != nil {
		t.Fatal(err)
	}
	if changed := obj.(*multicluster.ClusterProfile); len(changed.Status.Properties) != 1 || changed.Generation != 2 {
		t.Errorf("after the spec was written: %+v", changed)
	}
}

// TestConcurrencyRules is what keeps two writers from overwriting each other.
func TestConcurrencyRules(t *testing.T) {
	s := newStores(t)
	ctx := in(t, "placementdecisions", "")
	if _, err := update(ctx, s.decisions, "payments-0", newDecision(multicluster.ClusterDecisions{})); !apierrors.IsNotFound(err) {
		t.Errorf("update of a missing decision: %v", err)
	}
	obj, err := create(ctx, s.decisions, newDecision(multicluster.ClusterDecisions{}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := create(ctx, s.decisions, newDecision(multicluster.ClusterDecisions{})); !apierrors.IsAlreadyExists(err) {
		t.Errorf("second create: %v", err)
	}
	first := obj.(*multicluster.PlacementDecision)
	same, err := update(ctx, s.decisions, first.Name, first.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(obj, same); diff != "" {
		t.Errorf("a write that changes nothing (-before +after):\n%s", diff)
	}
	changed := first.DeepCopy()
	changed.SchedulerName = "fleet-scheduler"
	after, err := update(ctx, s.decisions, first.Name, changed)
	if err != nil {
		t.Fatal(err)
	}
	if got := after.(*multicluster.PlacementDecision); got.ResourceVersion == first.ResourceVersion || got.Generation != 2 {
		t.Errorf("resourceVersion %s after %s, generation %d", got.ResourceVersion, first.ResourceVersion, got.Generation)
	}
	stale := first.DeepCopy()
	stale.SchedulerName = "other"
	if _, err := update(ctx, s.decisions, first.Name, stale); !apierrors.IsConflict(err) {
		t.Errorf("update from an old resourceVersion: %v", err)
	}
	stale.ResourceVersion = ""
	if _, err := update(ctx, s.decisions, first.Name, stale); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "metadata.resourceVersion") {
		t.Errorf("update without resourceVersion: %v", err)
	}
}

// TestEmptyDecisionsAreStored reads back from etcd what is no decision in JSON's usual sense.
func TestEmptyDecisionsAreStored(t *testing.T) {
	s := newStores(t)
	ctx := in(t, "placementdecisions", "")
	if _, err := create(ctx, s.decisions, newDecision(nil)); !apierrors.IsInvalid(err) {
		t.Errorf("create without decisions: %v", err)
	}
	if _, err := create(ctx, s.decisions, newDecision(multicluster.ClusterDecisions{})); err != nil {
		t.Fatal(err)
	}
	read, err := s.decisions.Get(ctx, "payments-0", &metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := read.(*multicluster.PlacementDecision).Decisions; got == nil || len(got) != 0 {
		t.Errorf("decisions %#v, want an empty list", got)
	}
}

// TestTooLargeForEtcd makes etcd itself refuse, in create and in update, at sizes that different parts of it refuse.
func TestTooLargeForEtcd(t *testing.T) {
	s := newStores(t)
	ctx := in(t, "clusterprofiles", "")
	small, err := create(ctx, s.profiles, newProfile())
	if err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int{"etcd's limit": store.MaxObjectBytes + 100, "the client's limit": 3 << 20} {
		t.Run(name, func(t *testing.T) {
			large := newProfile()
			large.Name, large.Spec.DisplayName = "large", strings.Repeat("x", size)
			if _, err := create(ctx, s.profiles, large); !apierrors.IsRequestEntityTooLargeError(err) {
				t.Errorf("create: %.200v", err)
			}
			grown := small.DeepCopyObject().(*multicluster.ClusterProfile)
			grown.Spec.DisplayName = large.Spec.DisplayName
			if _, err := update(ctx, s.profiles, grown.Name, grown); !apierrors.IsRequestEntityTooLargeError(err) {
				t.Errorf("update: %.200v", err)
			}
		})
	}
	fits := newProfile()
	fits.Name, fits.Spec.DisplayName = "fits", strings.Repeat("x", store.MaxObjectBytes-2000)
	if _, err := create(ctx, s.profiles, fits); err != nil {
		t.Errorf("create just below the limit: %.200v", err)
	}
}
