package integration

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	binnacleapi "github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	multiclusterv1alpha1 "github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
	"github.com/binnacle-dev/binnacle/test/framework"
)

// sets are what a reader found who lists all slices of a decision in a loop: whole, in pages, and from the cache, in turn.
type sets struct {
	mu    sync.Mutex
	found [][]string
}

func (s *sets) take() (found [][]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, s.found = s.found, nil
	return found
}

func startReading(d decider, key string) *sets {
	s := &sets{}
	list := func(o metav1.ListOptions) (names []string, ok bool) {
		o.LabelSelector = multiclusterv1alpha1.DecisionKeyLabel + "=" + key
		for {
			page, err := d.client.MulticlusterV1alpha1().PlacementDecisions(d.namespace).List(d.t.Context(), o)
			if err != nil {
				if d.t.Context().Err() == nil {
					d.t.Errorf("a reader: %v", err)
				}
				return nil, false
			}
			names = append(names, published(page.Items)...)
			if o.Continue = page.Continue; o.Continue == "" {
				slices.Sort(names)
				return names, true
			}
		}
	}
	var done sync.WaitGroup
	for _, o := range []metav1.ListOptions{{}, {Limit: 1}, {ResourceVersion: "0"}} {
		done.Go(func() {
			for {
				names, ok := list(o)
				if !ok {
					return
				}
				s.mu.Lock()
				s.found = append(s.found, names)
				s.mu.Unlock()
			}
		})
	}
	d.t.Cleanup(done.Wait) // After the context of the test.
	return s
}

// TestReadersMissNobody lists all slices at one replica while the rollout goes back, begins anew and follows its targets at another, which is killed
// in the middle of publishing each time. Nobody who was in before and is in afterwards is ever missing.
func TestReadersMissNobody(t *testing.T) {
	t.Parallel()
	servers, _, _ := startShared(t, 2)
	mover, reading := newDecider(t, adminOf(t, servers[0]), "readers"), newDecider(t, adminOf(t, servers[1]), "readers")
	mover.clusters(260)
	plan := mover.plan("app", 30, 60, 100)
	plan.Spec.Drift = v1alpha1.DriftFollow
	mover.create(plan)
	mover.must("app", binnacleapi.VerbAdvance)
	seen := startReading(reading, "app")
	profiles := mover.client.MulticlusterV1alpha2().ClusterProfiles(mover.namespace)
	verb := func(verb binnacleapi.RolloutVerb, spec v1alpha1.RolloutActionSpec) func() {
		return func() { _, _ = mover.try("app", verb, spec) } // Who is killed does not answer.
	}
	toFirst := v1alpha1.RolloutActionSpec{ToRevision: ptr.To[int64](1)}
	for _, step := range []struct {
		name string
		do   func()
		kill bool
		want int
	}{
		{"advance", verb(binnacleapi.VerbAdvance, v1alpha1.RolloutActionSpec{}), false, 156},
		{"abort", verb(binnacleapi.VerbAbort, v1alpha1.RolloutActionSpec{}), true, 0},
		{"retry", verb(binnacleapi.VerbRetry, v1alpha1.RolloutActionSpec{}), false, 78},
		{"promote", verb(binnacleapi.VerbPromote, v1alpha1.RolloutActionSpec{Reason: "all"}), true, 260},
		{"rollback", verb(binnacleapi.VerbRollback, toFirst), true, 78},
		{"retry after the rollback", verb(binnacleapi.VerbRetry, v1alpha1.RolloutActionSpec{}), false, 156},
		{"the last step", verb(binnacleapi.VerbAdvance, v1alpha1.RolloutActionSpec{}), false, 260},
		{"joins", func() { mover.clustersFrom(260, 330) }, false, 330},
		{"leaves", func() {
			each(120, 16, func(i int) {
				_, err := profiles.Patch(t.Context(), fmt.Sprint("c", i*2), mergePatch, []byte(`{"metadata":{"labels":{"env":"test"}}}`), metav1.PatchOptions{})
				if i%3 == 0 && err == nil {
					err = profiles.Delete(t.Context(), fmt.Sprint("c", i*2), metav1.DeleteOptions{})
				}
				if err != nil {
					t.Error(err)
				}
			})
		}, false, 210},
		{"joins beside those who left", func() { mover.clustersFrom(330, 360) }, false, 240},
	} {
		mover.clearWay(seen, step.name, step.want, servers[0], reading, step.kill, step.do)
	}
}

// clearWay lets something happen that ends with so many clusters through, and holds what was read meanwhile against who was in before and is in
// afterwards. Where it is to be killed, the mover's server is as soon as a slice shows another revision.
func (d decider) clearWay(seen *sets, name string, want int, server *framework.Server, reading decider, kill bool, do func()) {
	d.t.Helper()
	before := published(reading.slices("app"))
	revision := reading.get("app").Status.Revision
	seen.take()
	var doing sync.WaitGroup
	doing.Go(do)
	if kill {
		within(d.t, viewPatience, "the first slice of "+name, func() bool {
			return slices.ContainsFunc(reading.slices("app"), func(slice multiclusterv1alpha1.PlacementDecision) bool {
				return slice.Labels[v1alpha1.LabelDecisionRevision] != fmt.Sprint(revision)
			})
		})
		if err := server.Kill(); err != nil {
			d.t.Fatal(err)
		}
	}
	doing.Wait()
	within(d.t, viewPatience, fmt.Sprint(name, " to be published with ", want), func() bool {
		rollout := reading.get("app")
		return int(rollout.Status.Counts.In) == want && slices.Equal(published(reading.slices("app")), through(&rollout.Status))
	})
	after := through(&reading.get("app").Status)
	found := seen.take()
	d.t.Logf("%s: %d before, %d after, %d reads meanwhile", name, len(before), len(after), len(found))
	for _, names := range found {
		for _, cluster := range before {
			_, stays := slices.BinarySearch(after, cluster)
			if _, there := slices.BinarySearch(names, cluster); stays && !there {
				d.t.Fatalf("%s: %s was missing among %d clusters", name, cluster, len(names))
			}
		}
	}
	if len(found) < 3 {
		d.t.Errorf("%s: nobody read anything", name)
	}
	if kill {
		if err := server.Start(d.t.Context()); err != nil {
			d.t.Fatal(err)
		}
	}
}
