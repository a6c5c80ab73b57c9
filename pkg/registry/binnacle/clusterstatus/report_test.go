package clusterstatus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/install"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/report"
	"github.com/binnacle-dev/binnacle/pkg/report/pages"
)

var (
	began   = time.Unix(1_800_000_000, 0)
	away    = apierrors.NewServiceUnavailable("away")
	anyName = "atlas"
)

// fakeView has the profiles that it is given, some of them only once somebody waited at the barrier.
type fakeView struct {
	profiles, late       map[string]types.UID
	check, barrier, read error
	barriers             int
	state                *pages.State
}

func (v *fakeView) Check() error { return v.check }

func (v *fakeView) Barrier(context.Context) (int64, error) {
	v.barriers++
	for cluster, uid := range v.late {
		v.profiles[cluster] = uid
	}
	return 1, v.barrier
}

func (v *fakeView) Profile(cluster string) (types.UID, bool) {
	uid, ok := v.profiles[cluster]
	return uid, ok
}

func (v *fakeView) Read(f func(*pages.State, func(types.UID) bool)) error {
	if v.read == nil {
		f(v.state, func(types.UID) bool { return true })
	}
	return v.read
}

// newReports is the storage over a view of the cluster fleet/atlas, and what it takes reports into.
func newReports() (*ReportREST, *fakeView, *report.Table, *clocktesting.FakeClock) {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	wall := clocktesting.NewFakeClock(began)
	table := report.NewTable(report.Limits{Interval: 10 * time.Second, PerSecond: 1000}, report.NewClock(wall))
	view := &fakeView{profiles: map[string]types.UID{"fleet/atlas": "uid-1"}, late: map[string]types.UID{}, state: pages.NewState()}
	return NewReportREST(scheme, view, table), view, table, wall
}

func inFleet(t *testing.T) context.Context {
	return request.WithRequestInfo(request.WithNamespace(t.Context(), "fleet"), &request.RequestInfo{
		IsResourceRequest: true, Verb: "create", APIGroup: binnacle.GroupName, APIVersion: "v1alpha1", Resource: "clusterstatuses", Subresource: "report"})
}

func reportWith(change ...func(*binnacle.ClusterReport)) *binnacle.ClusterReport {
	r := &binnacle.ClusterReport{Spec: binnacle.ClusterReportSpec{KubernetesVersion: "v1.37.2"}}
	for _, c := range change {
		c(r)
	}
	return r
}

// TestReportAnswer has the times in it, and nothing of what was sent.
func TestReportAnswer(t *testing.T) {
	r, view, table, _ := newReports()
	sent := reportWith(func(r *binnacle.ClusterReport) {
		r.Metadata.Labels = map[string]string{"a": "b"}
		r.Spec.ClusterProfileUID, r.Spec.Time = ptr.To[types.UID]("uid-1"), &metav1.Time{Time: began.Add(-time.Minute)}
		r.Spec.IntervalSeconds = ptr.To[int32](1)
		r.Status.NextReportSeconds = 99 // It is not the cluster's to say.
	})
	got, err := r.Create(inFleet(t), anyName, sent, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := &binnacle.ClusterReport{
		Metadata: metav1.ObjectMeta{Name: "atlas", Namespace: "fleet"},
		Status: binnacle.ClusterReportStatus{
			ReceivedTime: &metav1.MicroTime{Time: began}, NextReportSeconds: 1, ClockSkewSeconds: ptr.To[int64](-60)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	arrivals := table.Take()
	if len(arrivals) != 1 || arrivals[0].UID != "uid-1" || arrivals[0].Report.KubernetesVersion != "v1.37.2" {
		t.Errorf("arrived: %+v", arrivals)
	}
	if view.barriers != 0 {
		t.Error("a report of a known cluster asks etcd")
	}
}

// TestReportRefusals says which answer each wrong report gets, and that none of them leaves anything behind.
func TestReportRefusals(t *testing.T) {
	invalid := func(field string) func(error) bool {
		return func(err error) bool { return apierrors.IsInvalid(err) && strings.Contains(err.Error(), field) }
	}
	type change = func(*binnacle.ClusterReport)
	tests := map[string]struct {
		view   func(*fakeView)
		name   string
		change change
		admit  error
		want   func(error) bool
	}{
		"view is loading":     {view: func(v *fakeView) { v.check = away }, want: apierrors.IsServiceUnavailable},
		"another name":        {change: func(r *binnacle.ClusterReport) { r.Metadata.Name = "borealis" }, want: apierrors.IsBadRequest},
		"another namespace":   {change: func(r *binnacle.ClusterReport) { r.Metadata.Namespace = "prod" }, want: apierrors.IsBadRequest},
		"declared rule":       {change: func(r *binnacle.ClusterReport) { r.Spec.IntervalSeconds = ptr.To[int32](0) }, want: invalid("spec.intervalSeconds")},
		"rule across fields":  {change: func(r *binnacle.ClusterReport) { r.Spec.Nodes = &binnacle.NodeCounts{Ready: 1} }, want: invalid("spec.nodes.ready")},
		"rule of a resource":  {change: negative, want: invalid("spec.resources.available[cpu]")},
		"admission":           {admit: apierrors.NewForbidden(binnacle.Resource("clusterstatuses"), "atlas", nil), want: apierrors.IsForbidden},
		"no profile":          {name: "borealis", want: apierrors.IsNotFound},
		"etcd is away":        {name: "borealis", view: func(v *fakeView) { v.barrier = away }, want: apierrors.IsServiceUnavailable},
		"uid of another":      {change: func(r *binnacle.ClusterReport) { r.Spec.ClusterProfileUID = ptr.To[types.UID]("uid-0") }, want: apierrors.IsConflict},
		"empty uid":           {change: func(r *binnacle.ClusterReport) { r.Spec.ClusterProfileUID = ptr.To[types.UID]("") }, want: apierrors.IsConflict},
		"not a report at all": {name: "-", want: apierrors.IsBadRequest},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r, view, table, _ := newReports()
			if test.view != nil {
				test.view(view)
			}
			sent := reportWith()
			if test.change != nil {
				test.change(sent)
			}
			var obj runtime.Object = sent
			if test.name == "-" {
				obj = &binnacle.ClusterStatus{}
			}
			admit := func(context.Context, runtime.Object) error { return test.admit }
			target := anyName
			if test.name != "" {
				target = test.name
			}
			got, err := r.Create(inFleet(t), target, obj, admit, &metav1.CreateOptions{})
			if got != nil || !test.want(err) {
				t.Errorf("%v, %v", got, err)
			}
			if arrivals := table.Take(); len(arrivals) != 0 {
				t.Errorf("arrived all the same: %+v", arrivals)
			}
		})
	}
}

func negative(r *binnacle.ClusterReport) {
	r.Spec.Resources = &binnacle.ClusterResources{Available: corev1.ResourceList{"cpu": resource.MustParse("-1")}}
}

// TestReportTooOften is answered 429 with a time, by the table.
func TestReportTooOften(t *testing.T) {
	r, _, _, wall := newReports()
	send := func(options *metav1.CreateOptions) error {
		_, err := r.Create(inFleet(t), anyName, reportWith(), nil, options)
		return err
	}
	if err := send(&metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Fatal(err)
	}
	if err := send(&metav1.CreateOptions{}); err != nil {
		t.Fatalf("after a dry run: %v", err)
	}
	err := send(&metav1.CreateOptions{})
	if seconds, ok := apierrors.SuggestsClientDelay(err); !apierrors.IsTooManyRequests(err) || !ok || seconds != 1 {
		t.Errorf("%v, try again after %d s", err, seconds)
	}
	wall.Step(time.Second)
	if err := send(&metav1.CreateOptions{}); err != nil {
		t.Errorf("a second later: %v", err)
	}
}

// TestReportOfANewCluster waits for a profile that another replica wrote a moment ago.
func TestReportOfANewCluster(t *testing.T) {
	r, view, _, _ := newReports()
	view.late["fleet/borealis"] = "uid-2"
	if _, err := r.Create(inFleet(t), "borealis", reportWith(), nil, &metav1.CreateOptions{}); err != nil || view.barriers != 1 {
		t.Errorf("%v after %d reads of etcd", err, view.barriers)
	}
}

// TestAdmissionSeesTheWholeReport with the name and the namespace that it is for.
func TestAdmissionSeesTheWholeReport(t *testing.T) {
	r, _, _, _ := newReports()
	var seen *binnacle.ClusterReport
	admit := func(_ context.Context, obj runtime.Object) error {
		seen = obj.DeepCopyObject().(*binnacle.ClusterReport)
		return nil
	}
	if _, err := r.Create(inFleet(t), anyName, reportWith(), admit, &metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	want := reportWith(func(r *binnacle.ClusterReport) { r.Metadata.Name, r.Metadata.Namespace = "atlas", "fleet" })
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// publishedReport puts a report into the pages, received at a time.
func publishedReport(t *testing.T, view *fakeView, version string, received time.Time, skew int64) {
	t.Helper()
	spec := &v1alpha1.ClusterReportSpec{KubernetesVersion: version}
	digest, err := pages.Digest(spec)
	if err != nil {
		t.Fatal(err)
	}
	publishArrivals(t, view, []pages.Arrival{{UID: "uid-1", Received: received.UnixMilli(), Interval: 20, Skew: skew, Report: spec, Digest: digest}})
}

// publishArrivals has the view take reports in, as if they had been written to etcd and read back.
func publishArrivals(t *testing.T, view *fakeView, arrivals []pages.Arrival) {
	t.Helper()
	p := view.state.Plan(pages.Input{Now: arrivals[0].Received, Exists: func(types.UID) bool { return true }, Arrivals: arrivals})
	var changes []pages.Change
	add := func(key string, page interface {
		Marshal() ([]byte, error)
		Unmarshal([]byte) error
	}) {
		value, err := pages.Encode(page)
		if err != nil {
			t.Fatal(err)
		}
		changes = append(changes, pages.Change{Key: key, Value: value, Revision: 1})
	}
	add(pages.HeadKey, &p.Head)
	if p.Facts != nil {
		add(pages.FactsKey(p.Head.Sequence), p.Facts)
	}
	for number, page := range p.Seen {
		add(pages.SeenKey(number), page)
	}
	if _, err := view.state.Apply(changes); err != nil {
		t.Fatal(err)
	}
}

// TestGetReport returns the newest report, be it published or not, and be it of this replica or of another.
func TestGetReport(t *testing.T) {
	r, view, table, wall := newReports()
	get := func() (*binnacle.ClusterReport, error) {
		got, err := r.Get(inFleet(t), anyName, &metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return got.(*binnacle.ClusterReport), nil
	}
	if _, err := get(); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "report") {
		t.Errorf("before the first report: %v", err)
	}
	publishedReport(t, view, "v1", began, 60)
	expect := func(name, version string, received time.Time, next int32, skew *int64) {
		t.Helper()
		want := &binnacle.ClusterReport{
			Metadata: metav1.ObjectMeta{Name: "atlas", Namespace: "fleet"},
			Spec:     binnacle.ClusterReportSpec{ClusterProfileUID: ptr.To[types.UID]("uid-1"), KubernetesVersion: version},
			Status:   binnacle.ClusterReportStatus{ReceivedTime: &metav1.MicroTime{Time: received}, NextReportSeconds: next, ClockSkewSeconds: skew},
		}
		got, err := get()
		if got != nil {
			got.Spec.Time = nil
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	expect("published", "v1", began, 20, ptr.To[int64](60))
	wall.Step(20 * time.Second)
	if _, err := accept(t, table, "uid-1", &v1alpha1.ClusterReportSpec{KubernetesVersion: "v2"}); err != nil {
		t.Fatal(err)
	}
	expect("arrived here", "v2", began.Add(20*time.Second), 10, nil)
	wall.Step(2 * time.Second)
	if _, err := accept(t, table, "uid-1", &v1alpha1.ClusterReportSpec{KubernetesVersion: "v3", Time: &metav1.Time{Time: began}}); err != nil {
		t.Fatal(err)
	}
	expect("arrived here, with a time", "v3", began.Add(22*time.Second), 10, ptr.To[int64](-22))
	publishedReport(t, view, "v4", began.Add(25*time.Second), 0)
	expect("arrived elsewhere since", "v4", began.Add(25*time.Second), 20, nil)
}

// TestGetReportRefusals says which answer is whose.
func TestGetReportRefusals(t *testing.T) {
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		name   string
		change func(*fakeView)
		want   func(error) bool
	}{
		"etcd is away":  {anyName, func(v *fakeView) { v.barrier = away }, apierrors.IsServiceUnavailable},
		"no profile":    {"borealis", func(*fakeView) {}, apierrors.IsNotFound},
		"view is ended": {anyName, func(v *fakeView) { v.read = broken }, func(err error) bool { return errors.Is(err, broken) }},
	} {
		r, view, _, _ := newReports()
		test.change(view)
		if got, err := r.Get(inFleet(t), test.name, nil); got != nil || !test.want(err) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// TestReportOffersNothingElse keeps the subresource from being updated, patched, listed or deleted.
func TestReportOffersNothingElse(t *testing.T) {
	r, _, _, _ := newReports()
	if offered := offers(r); offered != "create get" {
		t.Errorf("offers %s", offered)
	}
	if name := fmt.Sprintf("%T", r.New()); name != "*binnacle.ClusterReport" || !r.NamespaceScoped() {
		t.Errorf("%s, namespaced %v", name, r.NamespaceScoped())
	}
}

func accept(t *testing.T, table *report.Table, uid types.UID, said *v1alpha1.ClusterReportSpec) (report.Answer, error) {
	t.Helper()
	digest, err := pages.Digest(said)
	if err != nil {
		t.Fatal(err)
	}
	return table.Accept(uid, said, digest, false)
}
