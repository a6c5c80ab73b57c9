package report_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	pagesv1 "github.com/binnacle-dev/binnacle/pkg/apis/pages/v1"
	"github.com/binnacle-dev/binnacle/pkg/embeddedetcd"
	"github.com/binnacle-dev/binnacle/pkg/report"
	"github.com/binnacle-dev/binnacle/pkg/report/pages"
)

const prefix = "/registry/binnacle/binnacle.dev/clusterstatuses/"

type keyContext string

func (k keyContext) AuthenticatedData() []byte { return []byte(k) }

// view is the pages as etcd has them. It looks there only when it is told to wait, as one that is slow does.
type view struct {
	t           *testing.T
	client      *clientv3.Client
	transformer value.Transformer

	mu       sync.Mutex
	state    *pages.State
	missing  map[types.UID]bool
	refusal  error
	revision int64
	// before is called once, before the next read.
	before func()
}

// Read implements report.View.
func (v *view) Read(f func(*pages.State, func(types.UID) bool)) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.refusal != nil {
		return v.refusal
	}
	f(v.state, func(uid types.UID) bool { return !v.missing[uid] })
	// What happens now comes between the plan and its publication.
	if before := v.before; before != nil {
		v.before = nil
		before()
	}
	return nil
}

// WaitFor implements report.View.
func (v *view) WaitFor(ctx context.Context, revision int64) error {
	response, err := v.client.Get(ctx, prefix, clientv3.WithPrefix())
	if err != nil {
		return err
	}
	var changes []pages.Change
	for _, kv := range response.Kvs {
		opened, _, err := v.transformer.TransformFromStorage(ctx, kv.Value, keyContext(kv.Key))
		if err != nil {
			return err
		}
		changes = append(changes, pages.Change{Key: strings.TrimPrefix(string(kv.Key), prefix), Value: opened, Revision: kv.ModRevision})
	}
	state := pages.NewState()
	if _, err := state.Apply(changes); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.state, v.revision = state, response.Header.Revision
	if response.Header.Revision < revision {
		return errors.New("etcd went back")
	}
	return nil
}

// head is the newest one of the view.
func (v *view) head() pagesv1.Head {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.state.Head
}

// version is what the view has of a cluster.
func (v *view) version(uid types.UID) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	entry, _ := v.state.Entry(uid)
	if entry == nil {
		return ""
	}
	return entry.Facts.Report.KubernetesVersion
}

// etcd is one etcd with a head, and a clock.
type etcd struct {
	*testing.T
	client *clientv3.Client
	wall   *clocktesting.FakeClock
	stop   func()
}

func newEtcd(t *testing.T) *etcd {
	t.Helper()
	server, err := embeddedetcd.Start(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e := &etcd{T: t, wall: clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0)), stop: sync.OnceFunc(server.Stop)}
	t.Cleanup(e.stop)
	if e.client, err = clientv3.New(clientv3.Config{Endpoints: []string{server.Endpoint()}, DialTimeout: 10 * time.Second, Logger: zap.NewNop()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.client.Close() })
	return e
}

// replica is a publisher with what it needs.
type replica struct {
	*report.Publisher
	*etcd
	view  *view
	table *report.Table
}

func (e *etcd) replica(transformers ...value.Transformer) *replica {
	e.Helper()
	transformer := identity.NewEncryptCheckTransformer()
	for _, t := range transformers {
		transformer = t
	}
	clock := report.NewClock(e.wall)
	v := &view{t: e.T, client: e.client, transformer: transformer, state: pages.NewState(), missing: map[types.UID]bool{}}
	table := report.NewTable(report.Limits{Interval: 10 * time.Second, PerSecond: 100_000}, clock)
	report.RegisterMetrics(table)
	r := &replica{etcd: e, view: v, table: table, Publisher: &report.Publisher{
		Client: e.client, Prefix: prefix, Transformer: transformer, Table: table, View: v, Clock: clock, Interval: 3 * time.Second, Wall: e.wall,
	}}
	r.begin()
	return r
}

// begin writes the first head if there is none, which is the view's part, and has the view look.
func (r *replica) begin() {
	r.Helper()
	ctx, key := r.Context(), prefix+pages.HeadKey
	data, err := pages.Encode(&pagesv1.Head{Epoch: 1, Derivation: 1, Parameters: pagesv1.Parameters{
		GraceSeconds: 30, GraceIntervals: 3, GrainSeconds: 300, SuspectPercent: 30}})
	if err == nil {
		data, err = r.Transformer.TransformToStorage(ctx, data, keyContext(key))
	}
	if err != nil {
		r.Fatal(err)
	}
	if _, err := r.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(key), "=", 0)).Then(clientv3.OpPut(key, string(data))).Commit(); err != nil {
		r.Fatal(err)
	}
	r.look()
}

func (r *replica) look() {
	r.Helper()
	if err := r.view.WaitFor(r.Context(), 0); err != nil {
		r.Fatal(err)
	}
}

func uid(n int) types.UID { return types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", n)) }

func (r *replica) arrive(n int, version string, properties ...v1alpha1.ReportedProperty) {
	r.Helper()
	said := &v1alpha1.ClusterReportSpec{KubernetesVersion: version, Properties: properties}
	digest, err := pages.Digest(said)
	if err != nil {
		r.Fatal(err)
	}
	if _, err := r.table.Accept(uid(n), said, digest, false); err != nil {
		r.Fatal(err)
	}
}

func (r *replica) publish() {
	r.Helper()
	if err := r.Publish(r.Context()); err != nil {
		r.Fatal(err)
	}
}

// keys are the pages in etcd, with their values.
func (e *etcd) keys() map[string]string {
	e.Helper()
	response, err := e.client.Get(e.Context(), prefix, clientv3.WithPrefix())
	if err != nil {
		e.Fatal(err)
	}
	keys := map[string]string{}
	for _, kv := range response.Kvs {
		keys[strings.TrimPrefix(string(kv.Key), prefix)] = string(kv.Value)
	}
	return keys
}

func (e *etcd) eventually(what string, met func() bool) {
	e.Helper()
	for deadline := time.Now().Add(30 * time.Second); !met(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			e.Fatalf("gave up waiting for %s", what)
		}
	}
}
