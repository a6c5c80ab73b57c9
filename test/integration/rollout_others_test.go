package integration

import (
	"bytes"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	binnacleapi "github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	multiclusterv1alpha1 "github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
	"github.com/binnacle-dev/binnacle/test/framework"
)

// TestManySlices lets 2,050 clusters of another producer's decision through one Rollout, which are 21 slices then. The slices of the producer stay as
// they are to the byte, and the same content again is neither a change nor an event (cases.md, 19).
func TestManySlices(t *testing.T) {
	t.Parallel()
	const clusters, slicesOfAll = 2050, 21
	config := adminOf(t, startStandalone(t, framework.ServerOptions{}))
	d, c := newDecider(t, config, "many"), newCaller(t, config, ours, "many", "v1alpha1")
	d.clusters(clusters)
	order := rand.Perm(clusters) // Of the scheduler, to whom it may mean something.
	var bodies []string
	for i := range slicesOfAll {
		var entries []string
		for _, cluster := range order[i*100 : min(clusters, i*100+100)] {
			entries = append(entries, fmt.Sprintf(`{"clusterProfileRef":{"name":"c%d"},"reason":"score %d"}`, cluster, cluster%7))
		}
		bodies = append(bodies, "["+strings.Join(entries, ",")+"]")
	}
	made := make([]answer, slicesOfAll)
	name := func(i int) string { return fmt.Sprintf("placementdecisions/theirs-%d", i) }
	for i, body := range bodies {
		made[i] = c.must(post("placementdecisions", fmt.Sprintf(`{"apiVersion":"GROUP/VERSION","kind":"PlacementDecision","metadata":{"name":"theirs-%d","labels":{"multicluster.x-k8s.io/decision-key":"theirs",`+
			`"multicluster.x-k8s.io/decision-index":"%d"}},"schedulerName":"theirs","decisions":%s}`, i, i, body)))
	}
	plan := d.plan("app", 33, 100)
	plan.Spec.Targets = v1alpha1.RolloutTargets{Decision: &v1alpha1.DecisionTarget{Key: "theirs"}}
	d.create(plan)
	if status := d.must("app", binnacleapi.VerbAdvance); status.Counts.In != 677 || status.Counts.Slices != 7 { // 676.5 is rounded up.
		t.Errorf("33 %% of %d: %+v", clusters, status.Counts)
	}
	if status := d.must("app", binnacleapi.VerbAdvance); status.Counts.In != clusters || status.Counts.Slices != slicesOfAll {
		t.Errorf("all of %d: %+v", clusters, status.Counts)
	}
	d.wantPublished("app")
	indexes := map[string]int{}
	for _, slice := range d.slices("app") {
		indexes[slice.Labels[multiclusterv1alpha1.DecisionIndexLabel]] = len(slice.Decisions)
	}
	for i := range slicesOfAll {
		if want := min(100, clusters-100*i); indexes[fmt.Sprint(i)] != want {
			t.Errorf("slice %d of %d has %d clusters, want %d", i, len(indexes), indexes[fmt.Sprint(i)], want)
		}
	}
	for i := range made {
		if now := c.must(get(name(i))); !bytes.Equal(now.raw, made[i].raw) || !strings.Contains(string(now.raw), bodies[i]) {
			t.Errorf("%s was rewritten: %s", name(i), shorten(string(now.raw)))
		}
	}
	more := strings.TrimSuffix(bodies[0], "]") + `,{"clusterProfileRef":{"name":"over"}}]`
	if a := c.do(put(name(0), made[0], bodies[0], more)); a.code != 422 || !strings.Contains(a.status.Message, "100") {
		t.Errorf("101 entries: %d %s", a.code, shorten(a.status.Message))
	}
	d.wantSameAgain(c, name, made)
}

// wantSameAgain writes slices again as they are, and wants neither a change nor an event: the first is of what is written afterwards.
func (d decider) wantSameAgain(c caller, name func(i int) string, made []answer) {
	d.t.Helper()
	watch, err := d.client.MulticlusterV1alpha1().PlacementDecisions(d.namespace).Watch(d.t.Context(), metav1.ListOptions{
		LabelSelector: multiclusterv1alpha1.DecisionKeyLabel + "=theirs", ResourceVersion: fmt.Sprint(d.get("app").ResourceVersion)})
	if err != nil {
		d.t.Fatal(err)
	}
	defer watch.Stop()
	// What the watch begins with is of before.
	began := c.must(patch(name(0), `{"metadata":{"annotations":{"again":"begins"}}}`))
	for event := range watch.ResultChan() {
		if event.Object.(*multiclusterv1alpha1.PlacementDecision).ResourceVersion == fmt.Sprint(began.versionOf()) {
			break
		}
	}
	for i := 1; i < len(made); i++ {
		if again := c.must(put(name(i), made[i])); again.versionOf() != made[i].versionOf() {
			d.t.Errorf("%s: the same again made resourceVersion %v of %v", name(i), again.versionOf(), made[i].versionOf())
		}
	}
	ended := c.must(patch(name(0), `{"metadata":{"annotations":{"again":"ended"}}}`))
	if event := (<-watch.ResultChan()).Object.(*multiclusterv1alpha1.PlacementDecision); event.ResourceVersion != fmt.Sprint(ended.versionOf()) {
		d.t.Errorf("the same again is an event of %s", event.Name)
	}
}

// TestDeletionOfClustersInUse deletes clusters that decisions and Rollouts in each phase name. Nothing holds them up; decisions of others stay as they
// are, and the Rollouts' own lose them (cases.md, 21).
func TestDeletionOfClustersInUse(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d decider) {
		d.clusters(10)
		theirs := &multiclusterv1alpha1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}, Decisions: multiclusterv1alpha1.ClusterDecisions{}}
		for i := range 10 {
			name := fmt.Sprint("c", i)
			theirs.Decisions = append(theirs.Decisions, multiclusterv1alpha1.ClusterDecision{ClusterProfileRef: multiclusterv1alpha1.ClusterProfileReference{Name: &name}})
		}
		decisions := d.client.MulticlusterV1alpha1().PlacementDecisions(d.namespace)
		made, err := decisions.Create(t.Context(), theirs, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		names := []string{"progressing", "paused", "completed", "rolled-back"}
		for _, name := range names {
			d.started(name)
		}
		d.must("paused", binnacleapi.VerbPause)
		d.must("completed", binnacleapi.VerbAdvance)
		toFirst := int64(1)
		d.must("rolled-back", binnacleapi.VerbRollback, v1alpha1.RolloutActionSpec{ToRevision: &toFirst})
		var deleted []string
		for _, name := range names { // Who is through by each of them, and others.
			deleted = append(deleted, published(d.slices(name))[0])
		}
		slices.Sort(deleted)
		deleted = slices.Compact(deleted)
		profiles := d.client.MulticlusterV1alpha2().ClusterProfiles(d.namespace)
		for _, cluster := range deleted {
			if err := profiles.Delete(t.Context(), cluster, metav1.DeleteOptions{}); err != nil {
				t.Errorf("deletion of %s: %v", cluster, err)
			}
			if _, err := profiles.Get(t.Context(), cluster, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("after its deletion %s is there: %v", cluster, err)
			}
		}
		for _, name := range names {
			within(t, viewPatience, fmt.Sprint(deleted, " to leave ", name), func() bool {
				return !slices.ContainsFunc(published(d.slices(name)), func(cluster string) bool { return slices.Contains(deleted, cluster) })
			})
		}
		if now, err := decisions.Get(t.Context(), made.Name, metav1.GetOptions{}); err != nil || now.ResourceVersion != made.ResourceVersion || len(now.Decisions) != 10 {
			t.Errorf("the decision of another is %+v, %v", now, err)
		}
	})
}
