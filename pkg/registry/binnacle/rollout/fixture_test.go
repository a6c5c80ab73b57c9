package rollout

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	binnacleinstall "github.com/binnacle-dev/binnacle/pkg/apis/binnacle/install"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/install"
	multiclusterv1alpha1 "github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/clusterstatus"
	"github.com/binnacle-dev/binnacle/pkg/embeddedetcd"
	"github.com/binnacle-dev/binnacle/pkg/registry/multicluster/placementdecision"
)

// world is the storage of Rollouts and of decisions over an etcd, and a view that says what a test wants.
type world struct {
	t *testing.T
	*REST
	decisions *placementdecision.REST
	etcd      *clientv3.Client
	view      *fakeView
	events    *record.FakeRecorder
}

// fakeView is a fleet in one namespace.
type fakeView struct {
	mu      sync.Mutex
	phases  map[string]binnacle.ClusterPhase
	suspect bool
	// decision is what each decision has, and half says that its slices are not whole.
	decision []string
	half     bool
}

func (*fakeView) Barrier(context.Context) (int64, error) { return 1, nil }

func (v *fakeView) Decision(string, string) ([]string, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.decision, !v.half
}

// decide writes the decision that targets may name.
func (v *fakeView) decide(whole bool, names ...string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.decision, v.half = nil, !whole
	for _, name := range names {
		v.decision = append(v.decision, "fleet/"+name)
	}
}

func (v *fakeView) MassSilence() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.suspect
}

func (v *fakeView) set(name string, phase binnacle.ClusterPhase) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.phases[name] = phase
	if phase == "" {
		delete(v.phases, name)
	}
}

func (v *fakeView) Cluster(key string) (clusterstatus.Cluster, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.cluster(strings.TrimPrefix(key, "fleet/"))
}

func (v *fakeView) cluster(name string) (clusterstatus.Cluster, bool) {
	phase, ok := v.phases[name]
	meta := metav1.ObjectMeta{Namespace: "fleet", Name: name, Labels: map[string]string{"env": "prod"}}
	return clusterstatus.Cluster{Profile: &multicluster.ClusterProfile{ObjectMeta: meta},
		Status: &binnacle.ClusterStatus{ObjectMeta: meta, Status: binnacle.ClusterStatusStatus{Phase: phase}}}, ok
}

func (v *fakeView) Clusters([]string) (found []clusterstatus.Cluster) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for name := range v.phases {
		c, _ := v.cluster(name)
		found = append(found, c)
	}
	return found
}

// optionsGetter keeps everything in one etcd.
type optionsGetter struct{ config storagebackend.Config }

func (g optionsGetter) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	return generic.RESTOptions{StorageConfig: g.config.ForResource(resource), Decorator: generic.UndecoratedStorage, ResourcePrefix: resource.Group + "/" + resource.Resource,
		EnableGarbageCollection: true, DeleteCollectionWorkers: 1}, nil
}

func codec(scheme *runtime.Scheme, versions ...runtime.GroupVersioner) runtime.Codec {
	wire := protobuf.NewSerializer(scheme, scheme)
	return serializer.NewCodecFactory(scheme).CodecForVersions(wire, wire, versions[0], versions[1])
}

// newWorld makes one with n clusters that report.
func newWorld(t *testing.T, n int) *world {
	t.Helper()
	etcd, err := embeddedetcd.Start(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(etcd.Stop)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd.Endpoint()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	scheme := runtime.NewScheme()
	install.Install(scheme)
	binnacleinstall.Install(scheme)
	getter := func(versions ...runtime.GroupVersioner) optionsGetter {
		config := storagebackend.NewDefaultConfig("/test", codec(scheme, versions...))
		config.Transport.ServerList = []string{etcd.Endpoint()}
		return optionsGetter{*config}
	}
	w := &world{t: t, etcd: client, view: &fakeView{phases: map[string]binnacle.ClusterPhase{}}, events: record.NewFakeRecorder(100)}
	for i := range n {
		w.view.set(fmt.Sprint("c", i), binnacle.ClusterReady)
	}
	if w.decisions, err = placementdecision.NewREST(scheme, getter(multiclusterv1alpha1.SchemeGroupVersion, multicluster.SchemeGroupVersion)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.decisions.Destroy)
	if w.REST, _, err = NewREST(Config{Scheme: scheme, Options: getter(v1alpha1.SchemeGroupVersion, binnacle.SchemeGroupVersion), Decisions: w.decisions,
		View: w.view, Etcd: client, LockPrefix: "/test/locks", Events: w.events, Collects: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.REST.Destroy)
	w.decisions.Guard = &placementdecision.Guard{Owners: w.REST}
	return w
}

// ctx is that of a request of a user.
func (w *world) ctx() context.Context {
	ctx := request.WithUser(request.WithNamespace(w.t.Context(), "fleet"), &user.DefaultInfo{Name: "ann", Groups: []string{"ops"}})
	return request.WithRequestInfo(ctx, &request.RequestInfo{IsResourceRequest: true, APIGroup: binnacle.GroupName, APIVersion: "v1alpha1", Namespace: "fleet", Resource: "rollouts"})
}

// plan is a Rollout with steps of percent, under the decision key app.
func (w *world) plan(name string, percents ...int32) *binnacle.Rollout {
	rollout := &binnacle.Rollout{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "fleet"}, Spec: binnacle.RolloutSpec{
		Targets: binnacle.RolloutTargets{Selector: &binnacle.SelectorTarget{Namespaces: []string{"fleet"}, Labels: &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}}},
		Output:  binnacle.RolloutOutput{DecisionKey: "app", SchedulerName: "s"}, Drift: binnacle.DriftFreeze, Disconnected: binnacle.DisconnectedHold,
		Progression: binnacle.ProgressionManual, FailureBudget: &binnacle.RolloutBudget{Count: ptr.To[int32](0)},
	}}
	for _, percent := range percents {
		rollout.Spec.Steps = append(rollout.Spec.Steps, binnacle.RolloutStep{Name: fmt.Sprint("p", percent), Percent: &percent})
	}
	return rollout
}

func (w *world) create(rollout *binnacle.Rollout) {
	w.t.Helper()
	if _, err := w.Create(w.ctx(), rollout, rest.ValidateAllObjectFunc, &metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// start creates a Rollout with steps of percent and takes the first.
func (w *world) start(edit func(*binnacle.RolloutSpec), percents ...int32) {
	w.t.Helper()
	rollout := w.plan("app", percents...)
	if edit != nil {
		edit(&rollout.Spec)
	}
	w.create(rollout)
	w.act(binnacle.VerbAdvance)
}

// act calls a verb, as a client does, and wants it to be followed.
func (w *world) act(verb binnacle.RolloutVerb) *binnacle.RolloutAction {
	w.t.Helper()
	done, err := w.ask("app", verb, binnacle.RolloutAction{})
	if err != nil {
		w.t.Fatalf("%s: %v", verb, err)
	}
	return done
}

// ask calls a verb of any Rollout.
func (w *world) ask(name string, verb binnacle.RolloutVerb, body binnacle.RolloutAction, dryRun ...string) (*binnacle.RolloutAction, error) {
	w.t.Helper()
	served := Subresources(runtime.NewScheme(), w.mover)[string(verb)].(*ActionREST)
	served.Strategy = w.CreateStrategy.(strategy).Strategy
	done, err := served.Create(w.ctx(), name, &body, rest.ValidateAllObjectFunc, &metav1.CreateOptions{DryRun: dryRun})
	if err != nil {
		return nil, err
	}
	return done.(*binnacle.RolloutAction), nil
}

func (w *world) now() *binnacle.Rollout {
	w.t.Helper()
	return w.get("app")
}

func (w *world) get(name string) *binnacle.Rollout {
	w.t.Helper()
	rollout, err := w.mover.get(w.ctx(), name)
	if err != nil {
		w.t.Fatal(err)
	}
	return rollout
}

// published are the clusters of all slices of the Rollout.
func (w *world) published() []string {
	w.t.Helper()
	own, _, err := w.mover.slicesOf(ofDecisions(w.ctx(), "fleet"), w.now().UID)
	if err != nil {
		w.t.Fatal(err)
	}
	names := map[string]bool{}
	for _, slice := range own {
		for _, decision := range slice.Decisions {
			names[*decision.ClusterProfileRef.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// through are the clusters that the status has in.
func (w *world) through() []string {
	var names []string
	for _, c := range w.now().Status.Clusters {
		if len(c.History)%2 == 1 {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return names
}

// writes is how many writes etcd has had.
func (w *world) writes() int64 {
	w.t.Helper()
	response, err := w.etcd.Get(w.t.Context(), "any")
	if err != nil {
		w.t.Fatal(err)
	}
	return response.Header.Revision
}
