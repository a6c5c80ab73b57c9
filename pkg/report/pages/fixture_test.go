package pages

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	pagesv1 "github.com/binnacle-dev/binnacle/pkg/apis/pages/v1"
)

const (
	start    = 1_800_000_000_000
	interval = 10
)

var parameters = pagesv1.Parameters{GraceSeconds: 30, GraceIntervals: 3, GrainSeconds: 300, SuspectPercent: 30}

// fleet is the pages of some clusters in an etcd of memory, and the time.
type fleet struct {
	t        *testing.T
	now      int64
	state    *State
	keys     map[string][]byte
	revision int64
	profiles map[types.UID]bool
	writes   int
	bytes    int
	records  int
}

func newFleet(t *testing.T) *fleet {
	f := &fleet{t: t, now: start, state: NewState(), keys: map[string][]byte{}, profiles: map[types.UID]bool{}}
	head := pagesv1.Head{Epoch: 1, Derivation: 1, Parameters: parameters}
	value, err := Encode(&head)
	if err != nil {
		t.Fatal(err)
	}
	f.write(Change{Key: HeadKey, Value: value})
	return f
}

// write is one transaction.
func (f *fleet) write(changes ...Change) []types.UID {
	f.t.Helper()
	f.revision++
	for i := range changes {
		changes[i].Revision = f.revision
		if changes[i].Value == nil {
			delete(f.keys, changes[i].Key)
		} else {
			f.keys[changes[i].Key] = changes[i].Value
		}
	}
	dirty, err := f.state.Apply(changes)
	if err != nil {
		f.t.Fatal(err)
	}
	slices.Sort(dirty)
	return dirty
}

// publish plans and writes one publication, and returns it with the clusters that it touched.
func (f *fleet) publish(in Input) (*Publication, []types.UID) {
	f.t.Helper()
	in.Now, in.KeepAlive = f.now, 3*second
	in.Exists = func(uid types.UID) bool { return f.profiles[uid] }
	p := f.state.Plan(in)
	if !p.Due {
		return nil, nil
	}
	put := func(key string, page Message) Change {
		value, err := Encode(page)
		if err != nil {
			f.t.Fatal(err)
		}
		f.bytes += len(value)
		return Change{Key: key, Value: value}
	}
	f.writes++
	changes := []Change{put(HeadKey, &p.Head)}
	if p.Facts != nil {
		f.records += len(p.Facts.Records)
		changes = append(changes, put(FactsKey(p.Head.Sequence), p.Facts))
	}
	for number, page := range p.Seen {
		changes = append(changes, put(SeenKey(number), page))
	}
	for _, sequence := range p.Drop {
		changes = append(changes, Change{Key: FactsKey(sequence)})
	}
	return p, f.write(changes...)
}

// reload returns the state that a replica has which reads all pages at once.
func (f *fleet) reload() *State {
	f.t.Helper()
	s := NewState()
	var changes []Change
	for key, value := range f.keys {
		changes = append(changes, Change{Key: key, Value: value, Revision: f.revision})
	}
	if _, err := s.Apply(changes); err != nil {
		f.t.Fatal(err)
	}
	return s
}

// shown is what a state says of each cluster that exists.
func (f *fleet) shown(s *State) map[types.UID]any {
	out := map[types.UID]any{}
	for _, uid := range slices.Sorted(maps.Keys(f.profiles)) {
		if e, seen := s.Entry(uid); e != nil {
			out[uid] = []any{*e.Facts, seen}
		}
	}
	return out
}

// same fails where a replica that loads the pages now would show something else than one that has followed.
func (f *fleet) same() {
	f.t.Helper()
	if diff := cmp.Diff(f.shown(f.state), f.shown(f.reload())); diff != "" {
		f.t.Fatalf("a load differs from what was followed (-followed +loaded):\n%s", diff)
	}
}

func (f *fleet) after(seconds int64) *fleet {
	f.now += seconds * second
	return f
}

func uid(n int) types.UID { return types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", n)) }

// register makes profiles 0 to n-1.
func (f *fleet) register(n int) *fleet {
	for i := range n {
		f.profiles[uid(i)] = true
	}
	return f
}

// report is one report of a cluster, right now.
func (f *fleet) report(n int, change ...func(*v1alpha1.ClusterReportSpec)) Arrival {
	f.t.Helper()
	spec := &v1alpha1.ClusterReportSpec{
		KubernetesVersion: "v1.37.2", Nodes: &v1alpha1.NodeCounts{Total: 3, Ready: 3},
		Resources:  &v1alpha1.ClusterResources{Available: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}},
		Properties: []v1alpha1.ReportedProperty{{Name: "region", Value: "fra1"}},
		Conditions: []v1alpha1.ReportedCondition{{Type: "ControlPlaneHealthy", Status: metav1.ConditionTrue}},
	}
	for _, c := range change {
		c(spec)
	}
	digest, err := Digest(spec)
	if err != nil {
		f.t.Fatal(err)
	}
	return Arrival{UID: uid(n), Received: f.now, Interval: interval, Report: spec, Digest: digest}
}

func gpus(n int) func(*v1alpha1.ClusterReportSpec) {
	return func(s *v1alpha1.ClusterReportSpec) {
		s.Resources = &v1alpha1.ClusterResources{Available: corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(int64(n), resource.DecimalSI)}}
	}
}

func healthy(status metav1.ConditionStatus) func(*v1alpha1.ClusterReportSpec) {
	return func(s *v1alpha1.ClusterReportSpec) { s.Conditions[0].Status = status }
}

// reportAll is a report of each of the first n clusters.
func (f *fleet) reportAll(n int, change ...func(*v1alpha1.ClusterReportSpec)) Input {
	f.t.Helper()
	var in Input
	for i := range n {
		in.Arrivals = append(in.Arrivals, f.report(i, change...))
	}
	return in
}

func (f *fleet) seen(n int) Seen {
	_, seen := f.state.Entry(uid(n))
	return seen
}
