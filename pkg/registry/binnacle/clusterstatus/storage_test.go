package clusterstatus

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/clusterstatus/viewlog"
)

// offers is what the library finds that a storage can do, and advertises.
func offers(storage rest.Storage) string {
	var verbs []string
	add := func(verb string, ok bool) {
		if ok {
			verbs = append(verbs, verb)
		}
	}
	_, creater := storage.(rest.Creater)
	_, named := storage.(rest.NamedCreater)
	add("create", creater || named)
	_, ok := storage.(rest.GracefulDeleter)
	add("delete", ok)
	_, ok = storage.(rest.CollectionDeleter)
	add("deletecollection", ok)
	_, getter := storage.(rest.Getter)
	_, withOptions := storage.(rest.GetterWithOptions)
	add("get", getter || withOptions)
	_, ok = storage.(rest.Lister)
	add("list", ok)
	_, ok = storage.(rest.Patcher)
	add("patch", ok)
	_, ok = storage.(rest.Updater)
	add("update", ok)
	_, ok = storage.(rest.Watcher)
	add("watch", ok)
	_, ok = storage.(rest.Connecter)
	add("connect", ok)
	return strings.Join(verbs, " ")
}

func barrier(context.Context) (int64, error) { return 1, nil }

// TestOffersReadsOnly keeps what the store could do beyond reading from being advertised.
func TestOffersReadsOnly(t *testing.T) {
	r := NewREST(viewlog.New(viewlog.Limits{Events: 10, Bytes: 1 << 20}), barrier)
	if offered := offers(r); offered != "get list watch" {
		t.Errorf("offers %s", offered)
	}
	if r.GetSingularName() != "clusterstatus" || !r.NamespaceScoped() {
		t.Errorf("%s, namespaced %v", r.GetSingularName(), r.NamespaceScoped())
	}
	if diff := cmp.Diff([]string{"cst", "multicluster"}, append(r.ShortNames(), r.Categories()...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestReads are answered 503 before the view is loaded, and then from it.
func TestReads(t *testing.T) {
	log := viewlog.New(viewlog.Limits{Events: 10, Bytes: 1 << 20})
	r := NewREST(log, barrier)
	ctx := request.WithNamespace(t.Context(), "fleet")
	if _, err := r.Get(ctx, "atlas", &metav1.GetOptions{}); !apierrors.IsServiceUnavailable(err) || r.ReadinessCheck() == nil {
		t.Errorf("before the view is loaded: %v, readiness %v", err, r.ReadinessCheck())
	}
	named := func(namespace, name string, phase binnacle.ClusterPhase) *binnacle.ClusterStatus {
		return &binnacle.ClusterStatus{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Status: binnacle.ClusterStatusStatus{Phase: phase}}
	}
	log.Reset(1, []*binnacle.ClusterStatus{
		named("fleet", "atlas", binnacle.ClusterReady), named("fleet", "borealis", binnacle.ClusterUnknown), named("fleet2", "atlas", binnacle.ClusterReady)})
	got, err := r.Get(ctx, "atlas", &metav1.GetOptions{})
	if err != nil || got.(*binnacle.ClusterStatus).Namespace != "fleet" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := r.Get(ctx, "cygnus", &metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("%v", err)
	}
	list, err := r.List(ctx, &metainternalversion.ListOptions{FieldSelector: fields.OneTermEqualSelector(binnacle.SelectorPhase, "Ready")})
	if err != nil || len(list.(*binnacle.ClusterStatusList).Items) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	if err := r.ReadinessCheck(); err != nil {
		t.Error(err)
	}
}

func TestAttributes(t *testing.T) {
	status := &binnacle.ClusterStatus{
		ObjectMeta: metav1.ObjectMeta{Name: "atlas", Namespace: "fleet", Labels: map[string]string{"region": "eu"}},
		Status:     binnacle.ClusterStatusStatus{Phase: binnacle.ClusterReady, KubernetesVersion: "v1.37.2", ClusterManager: "m"},
	}
	gotLabels, gotFields, err := attributes(status)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(labels.Set{"region": "eu"}, gotLabels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	want := fields.Set{"metadata.name": "atlas", "metadata.namespace": "fleet", "status.phase": "Ready", "status.kubernetesVersion": "v1.37.2", "status.clusterManager": "m"}
	if diff := cmp.Diff(want, gotFields); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	// Whatever a selector may name, it can be looked up.
	for label := range want {
		if _, _, err := binnacle.ClusterStatusFieldLabel(label, ""); err != nil {
			t.Error(err)
		}
	}
	if _, _, err := attributes(&binnacle.ClusterReport{}); err == nil {
		t.Error("something else has attributes")
	}
}
