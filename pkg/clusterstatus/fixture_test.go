package clusterstatus_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/install"
	upstream "github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
	pagesv1 "github.com/binnacle-dev/binnacle/pkg/apis/pages/v1"
	"github.com/binnacle-dev/binnacle/pkg/clusterstatus"
	"github.com/binnacle-dev/binnacle/pkg/clusterstatus/viewlog"
	"github.com/binnacle-dev/binnacle/pkg/embeddedetcd"
	"github.com/binnacle-dev/binnacle/pkg/report"
	"github.com/binnacle-dev/binnacle/pkg/report/pages"
)

const prefix = "/registry/binnacle/"

var parameters = pagesv1.Parameters{GraceSeconds: 30, GraceIntervals: 3, GrainSeconds: 300, SuspectPercent: 30}

var codec = func() runtime.Codec {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	return serializer.NewCodecFactory(scheme).LegacyCodec(upstream.SchemeGroupVersion)
}()

// getter says where everything lies, as the server's own does.
type getter struct{}

// GetRESTOptions implements generic.RESTOptionsGetter.
func (getter) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	return generic.RESTOptions{
		ResourcePrefix: resource.Group + "/" + resource.Resource,
		StorageConfig:  storagebackend.NewDefaultConfig(prefix, codec).ForResource(resource),
	}, nil
}

// hub is one etcd, and a clock that the test moves.
type hub struct {
	*testing.T
	client *clientv3.Client
	// stopEtcd may be called more than once.
	stopEtcd func()
	wall     *clocktesting.FakeClock
}

func newHub(t *testing.T) *hub {
	t.Helper()
	server, err := embeddedetcd.Start(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &hub{T: t, stopEtcd: sync.OnceFunc(server.Stop), wall: clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))}
	t.Cleanup(h.stopEtcd)
	h.client, err = clientv3.New(clientv3.Config{Endpoints: []string{server.Endpoint()}, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.client.Close() })
	return h
}

// replica is one server's part of the view.
type replica struct {
	*hub
	engine    *clusterstatus.Engine
	table     *report.Table
	publisher *report.Publisher
	storage   storage.Interface
	stop      func()
}

// start returns a replica whose view is loaded.
func (h *hub) start(change ...func(*clusterstatus.Config)) *replica {
	h.Helper()
	r := h.newEngine(change...)
	h.eventually("the view to be loaded", func() bool { return r.engine.Check() == nil })
	return r
}

func (h *hub) newEngine(change ...func(*clusterstatus.Config)) *replica {
	h.Helper()
	viewClock := report.NewClock(h.wall)
	config := clusterstatus.Config{
		Client: h.client, Storage: getter{}, Parameters: parameters, Clock: viewClock, Log: viewlog.New(viewlog.Limits{Events: 10_000, Bytes: 64 << 20}),
	}
	for _, c := range change {
		c(&config)
	}
	engine, err := clusterstatus.New(config, prefix)
	if err != nil {
		h.Fatal(err)
	}
	table := report.NewTable(report.Limits{Interval: 10 * time.Second, PerSecond: 100_000}, viewClock)
	r := &replica{hub: h, engine: engine, table: table, publisher: &report.Publisher{
		Client: h.client, Prefix: engine.PagesPrefix(), Transformer: engine.Transformer(), Table: table, View: engine, Clock: viewClock,
		Interval: 3 * time.Second, Wall: clock.RealClock{},
	}}
	r.storage = viewlog.NewStorage(config.Log, viewlog.StorageOptions{
		Prefix: "/clusterstatuses", Resource: binnacle.Resource("clusterstatuses"), Attributes: attributes, Barrier: engine.Barrier,
	})
	ctx, cancel := context.WithCancel(h.Context())
	done := make(chan struct{})
	go func() { defer close(done); engine.Run(ctx) }()
	var once sync.Once
	r.stop = func() { once.Do(func() { cancel(); <-done }) }
	h.Cleanup(r.stop)
	return r
}

func attributes(obj runtime.Object) (labels.Set, fields.Set, error) {
	status, ok := obj.(*binnacle.ClusterStatus)
	if !ok {
		return nil, nil, fmt.Errorf("%T", obj)
	}
	return status.Labels, generic.ObjectMetaFieldsSet(&status.ObjectMeta, true), nil
}

func (h *hub) eventually(what string, met func() bool) {
	h.Helper()
	if !h.becomes(met) {
		h.Fatalf("gave up waiting for %s", what)
	}
}

func (h *hub) becomes(met func() bool) bool {
	for deadline := time.Now().Add(30 * time.Second); !met(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// put writes an object as the storage does.
func (h *hub) put(resource, name string, obj runtime.Object) int64 {
	h.Helper()
	data, err := runtime.Encode(codec, obj)
	if err != nil {
		h.Fatal(err)
	}
	response, err := h.client.Put(h.Context(), prefix+multicluster.GroupName+"/"+resource+"/fleet/"+name, string(data))
	if err != nil {
		h.Fatal(err)
	}
	return response.Header.Revision
}

func (h *hub) delete(resource, name string) {
	h.Helper()
	if _, err := h.client.Delete(h.Context(), prefix+multicluster.GroupName+"/"+resource+"/fleet/"+name); err != nil {
		h.Fatal(err)
	}
}

// register writes a ClusterProfile, and returns its uid.
func (h *hub) register(name string, generation int) types.UID {
	h.Helper()
	uid := types.UID(fmt.Sprintf("uid-of-%s-%d", name, generation))
	h.put("clusterprofiles", name, &multicluster.ClusterProfile{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "fleet", UID: uid, CreationTimestamp: metav1.Unix(1_800_000_000, 0)},
		Spec:       multicluster.ClusterProfileSpec{ClusterManager: multicluster.ClusterManager{Name: ptr.To("m")}},
	})
	return uid
}

// report has a cluster report to a replica, which knows its profile.
func (r *replica) report(uid types.UID, version string) {
	r.Helper()
	if _, err := r.engine.Barrier(r.Context()); err != nil {
		r.Fatal(err)
	}
	said := &v1alpha1.ClusterReportSpec{KubernetesVersion: version}
	digest, err := pages.Digest(said)
	if err != nil {
		r.Fatal(err)
	}
	if _, err := r.table.Accept(uid, said, digest, false); err != nil {
		r.Fatal(err)
	}
}

func (r *replica) publish() {
	r.Helper()
	if err := r.publisher.Publish(r.Context()); err != nil {
		r.Fatal(err)
	}
}

// get is a consistent read.
func (r *replica) get(name string) *binnacle.ClusterStatus {
	r.Helper()
	out := &binnacle.ClusterStatus{}
	if err := r.storage.Get(r.Context(), "/clusterstatuses/fleet/"+name, storage.GetOptions{IgnoreNotFound: true}, out); err != nil {
		r.Fatal(err)
	}
	return out
}

// list is a consistent read of everything.
func (r *replica) list() *binnacle.ClusterStatusList {
	r.Helper()
	out := &binnacle.ClusterStatusList{}
	if err := r.storage.GetList(r.Context(), "/clusterstatuses", storage.ListOptions{Predicate: everything(), Recursive: true}, out); err != nil {
		r.Fatal(err)
	}
	return out
}

func (r *replica) watch(from string) watch.Interface {
	r.Helper()
	w, err := r.storage.Watch(r.Context(), "/clusterstatuses", storage.ListOptions{ResourceVersion: from, Predicate: everything(), Recursive: true})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(w.Stop)
	return w
}

func everything() storage.SelectionPredicate {
	return storage.SelectionPredicate{Label: labels.Everything(), Field: fields.Everything(), GetAttrs: attributes}
}
