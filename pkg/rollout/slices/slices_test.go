package slices_test

import (
	"fmt"
	"maps"
	"math/rand"
	std "slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/rollout"
	"github.com/binnacle-dev/binnacle/pkg/rollout/slices"
)

// stored is what etcd holds, by name.
type stored map[string]*multicluster.PlacementDecision

func (s stored) list() []*multicluster.PlacementDecision {
	var list []*multicluster.PlacementDecision
	for _, name := range std.Sorted(maps.Keys(s)) {
		list = append(list, s[name])
	}
	return list
}

// do does a write as the registry would.
func (s stored) do(t *testing.T, write slices.Write) {
	t.Helper()
	name := write.Slice.Name
	if _, exists := s[name]; exists == (write.Verb == slices.Create) {
		t.Fatalf("%s of %s, which exists: %v", write.Verb, name, exists)
	}
	if len(write.Slice.Decisions) > multicluster.MaxDecisionsPerSlice {
		t.Fatalf("%s has %d decisions", name, len(write.Slice.Decisions))
	}
	if write.Verb == slices.Delete {
		delete(s, name)
		return
	}
	s[name] = write.Slice.DeepCopy()
}

// members are all clusters of all slices.
func (s stored) members() map[string]bool {
	found := map[string]bool{}
	for _, slice := range s {
		for _, d := range slice.Decisions {
			found[ptr.Deref(d.ClusterProfileRef.Namespace, "")+"/"+*d.ClusterProfileRef.Name] = true
		}
	}
	return found
}

// newRollout has clusters in slices, by their numbers. Every seventh is in another namespace.
func newRollout(revision int64, in map[int]int32) *binnacle.Rollout {
	r := &binnacle.Rollout{ObjectMeta: metav1.ObjectMeta{Name: "payments", Namespace: "fleet", UID: "uid"},
		Spec: binnacle.RolloutSpec{Output: binnacle.RolloutOutput{DecisionKey: "key", PlacementKey: "placement", SchedulerName: "me"}}}
	r.Status.Revision = revision
	for _, n := range std.Sorted(maps.Keys(in)) {
		c := binnacle.RolloutCluster{Name: fmt.Sprintf("store-%04d", n), Slice: in[n], State: binnacle.ClusterIn, History: []int64{revision}}
		if n%7 == 0 {
			c.Namespace = "other"
		}
		r.Status.Clusters = append(r.Status.Clusters, c)
		r.Status.Counts.Slices = max(r.Status.Counts.Slices, in[n]+1)
	}
	return r
}

func TestDesired(t *testing.T) {
	if got := slices.Desired(newRollout(0, nil)); got != nil {
		t.Errorf("before the first revision: %v", got)
	}
	empty := slices.Desired(newRollout(3, nil))
	if len(empty) != 1 || empty[0].Decisions == nil || len(empty[0].Decisions) != 0 {
		t.Errorf("nobody is through: %+v", empty)
	}
	r := newRollout(7, map[int]int32{3: 0, 1: 0, 7: 0, 2: 2})
	r.Status.Clusters = append(r.Status.Clusters, binnacle.RolloutCluster{Name: "out", History: []int64{1, 2}})
	std.Reverse(r.Status.Clusters)
	got := slices.Desired(r)
	ref := func(namespace, name string) multicluster.ClusterDecision {
		d := multicluster.ClusterDecision{ClusterProfileRef: multicluster.ClusterProfileReference{Name: &name}}
		if namespace != "" {
			d.ClusterProfileRef.Namespace = &namespace
		}
		return d
	}
	want := func(index string, decisions ...multicluster.ClusterDecision) *multicluster.PlacementDecision {
		return &multicluster.PlacementDecision{
			ObjectMeta: metav1.ObjectMeta{Name: "payments-" + index, Namespace: "fleet",
				Labels: map[string]string{"multicluster.x-k8s.io/decision-key": "key", "multicluster.x-k8s.io/decision-index": index,
					"multicluster.x-k8s.io/placement-key": "placement", "multicluster.x-k8s.io/decision-revision": "7"},
				Annotations:     map[string]string{"binnacle.dev/decision-slices": "3"},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "binnacle.dev/v1alpha1", Kind: "Rollout", Name: "payments", UID: "uid", Controller: ptr.To(true)}}},
			Decisions: append(multicluster.ClusterDecisions{}, decisions...), SchedulerName: "me",
		}
	}
	if diff := cmp.Diff([]*multicluster.PlacementDecision{
		want("0", ref("", "store-0001"), ref("", "store-0003"), ref("other", "store-0007")), want("1"), want("2", ref("", "store-0002"))}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r.Spec.Output.Name = "mine"
	if name := slices.Desired(r)[2].Name; name != "mine-2" {
		t.Errorf("name %s", name)
	}
}

// TestOrderOfWrites creates and adds before it takes out, and deletes at the end.
func TestOrderOfWrites(t *testing.T) {
	s := stored{}
	for _, slice := range slices.Desired(newRollout(1, map[int]int32{1: 0, 2: 1, 3: 1, 4: 2, 5: 4})) {
		slice.ResourceVersion, slice.Labels["mine"] = "5", "kept"
		s[slice.Name] = slice
	}
	r := newRollout(2, map[int]int32{2: 1, 4: 2, 6: 2, 8: 3})
	r.Spec.Output.PlacementKey = ""
	s["payments-3"].Labels["multicluster.x-k8s.io/placement-key"] = "old"
	delete(s, "payments-3")
	var got []string
	for _, write := range slices.Writes(r, s.list()) {
		got = append(got, string(write.Verb)+" "+write.Slice.Name)
		if write.Verb == slices.Update {
			labels := write.Slice.Labels
			if labels["mine"] != "kept" || labels["multicluster.x-k8s.io/placement-key"] != "" || labels["multicluster.x-k8s.io/decision-revision"] != "2" || write.Slice.ResourceVersion != "5" {
				t.Errorf("%s is updated to %v at %s", write.Slice.Name, labels, write.Slice.ResourceVersion)
			}
		}
	}
	want := []string{"create payments-3", "update payments-2", "update payments-0", "update payments-1", "delete payments-4"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// checkWrites does all writes, stopping after stop of them and beginning anew, and checks after each that nobody is missing.
func checkWrites(t *testing.T, s stored, r *binnacle.Rollout, stop int) {
	t.Helper()
	final := stored{}
	for _, slice := range slices.Desired(r) {
		final[slice.Name] = slice
	}
	stay := s.members()
	maps.DeleteFunc(stay, func(name string, _ bool) bool { return !final.members()[name] })
	for round := range 2 {
		for i, write := range slices.Writes(r, s.list()) {
			if round == 0 && i == stop {
				break
			}
			s.do(t, write)
			members := s.members()
			for name := range stay {
				if !members[name] {
					t.Fatalf("%s is missing after %s of %s, the write %d", name, write.Verb, write.Slice.Name, i)
				}
			}
		}
	}
	if diff := cmp.Diff(final.members(), s.members()); diff != "" || len(s) != len(final) {
		t.Fatalf("%d slices, want %d; members (-want +got):\n%s", len(s), len(final), diff)
	}
	if left := slices.Writes(r, s.list()); len(left) > 0 {
		t.Fatalf("%d writes are left, the first %s of %s", len(left), left[0].Verb, left[0].Slice.Name)
	}
}

// TestNobodyIsEverMissing goes from any slices to any others, as after somebody else wrote them, and may be killed on the way.
func TestNobodyIsEverMissing(t *testing.T) {
	first := rand.Int63()
	t.Logf("first seed %d", first)
	for i := range int64(200) {
		random := rand.New(rand.NewSource(first + i))
		t.Run(fmt.Sprint(first+i), func(t *testing.T) {
			placed := func(revision int64) *binnacle.Rollout {
				in, filled := map[int]int32{}, map[int32]int{}
				for range random.Intn(400) {
					slice := int32(random.Intn(4))
					if n := random.Intn(500); filled[slice] < 100 {
						if _, known := in[n]; !known {
							in[n] = slice
							filled[slice]++
						}
					}
				}
				return newRollout(revision, in)
			}
			s := stored{}
			for _, slice := range slices.Desired(placed(1)) {
				s[slice.Name] = slice
			}
			if random.Intn(3) == 0 {
				delete(s, "payments-1")
			}
			checkWrites(t, s, placed(2), random.Intn(12))
		})
	}
}

// TestPlannerAndSlices runs a rollout over 450 clusters with comings and goings: no cluster is ever seen to move.
func TestPlannerAndSlices(t *testing.T) {
	first := rand.Int63()
	t.Logf("first seed %d", first)
	for i := range int64(20) {
		random := rand.New(rand.NewSource(first + i))
		t.Run(fmt.Sprint(first+i), func(t *testing.T) {
			r := newRollout(0, nil)
			r.Status = rollout.Initial(1)
			r.Spec.Drift, r.Spec.Disconnected = binnacle.DriftFollow, binnacle.DisconnectedHold
			for n := range int32(9) {
				r.Spec.Steps = append(r.Spec.Steps, binnacle.RolloutStep{Name: fmt.Sprint("s", n), Percent: ptr.To(10 * (n + 1))})
			}
			r.Spec.Steps = append(r.Spec.Steps, binnacle.RolloutStep{Name: "all", Percent: ptr.To[int32](100)})
			var targets []rollout.Target
			for n := range 450 {
				targets = append(targets, rollout.Target{Name: fmt.Sprint("store-", n), Namespace: "fleet", Selected: true, Connected: random.Intn(9) > 0})
			}
			s := stored{}
			for range 40 {
				for range random.Intn(20) {
					target := &targets[random.Intn(len(targets))]
					target.Connected, target.Selected = random.Intn(9) > 0, random.Intn(9) > 0
				}
				in := rollout.Input{Rollout: r, Targets: targets, Now: time.Unix(0, 0)}
				verb := []binnacle.RolloutVerb{binnacle.VerbAdvance, binnacle.VerbAdvance, binnacle.VerbAbort, binnacle.VerbRetry}[random.Intn(4)]
				result, err := rollout.Apply(in, rollout.Request{Verb: verb})
				if err != nil {
					result = rollout.Tick(in)
				}
				r.Status = result.Status
				for _, write := range slices.Writes(r, s.list()) {
					if write.Verb != slices.Create {
						continue
					}
					if std.Contains(std.Sorted(maps.Keys(s)), write.Slice.Name) || write.Slice.Annotations[binnacle.AnnotationDecisionSlices] != fmt.Sprint(r.Status.Counts.Slices) {
						t.Fatalf("%s is created", write.Slice.Name)
					}
					if int(r.Status.Counts.Slices) <= len(s) {
						t.Fatalf("a slice beyond the last: %s", write.Slice.Name)
					}
				}
				checkWrites(t, s, r, random.Intn(8))
			}
		})
	}
}
