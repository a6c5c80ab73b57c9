package integration

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	binnacleapi "github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// clusterOf is what a status says of a cluster, nothing where it says none.
func clusterOf(status *v1alpha1.RolloutStatus, name string) v1alpha1.RolloutCluster {
	for _, c := range status.Clusters {
		if c.Name == name {
			return c
		}
	}
	return v1alpha1.RolloutCluster{}
}

// pendingOf are the clusters that are not through, in their order.
func pendingOf(status *v1alpha1.RolloutStatus) (names []string) {
	for _, c := range status.Clusters {
		if c.State == v1alpha1.ClusterPending {
			names = append(names, c.Name)
		}
	}
	return names
}

// TestMembersThatChangeInARun deletes a cluster that waits, lets one fall silent and registers two, after the first of three steps over ten
// clusters. The run goes on with the ten that it was started with, and the next takes the new ones (cases.md, 23).
func TestMembersThatChangeInARun(t *testing.T) {
	t.Parallel()
	f, _ := standaloneFleet(t, "--cluster-grace-period=2s", "--cluster-grace-intervals=1")
	d := newDecider(t, f.config, f.namespace)
	d.clusters(10)
	plan := d.plan("app", 20, 50, 100)
	plan.Spec.Disconnected = v1alpha1.DisconnectedHold
	d.create(plan)
	if status := d.must("app", binnacleapi.VerbAdvance); status.Counts.Targets != 10 || status.Counts.In != 2 {
		t.Fatalf("the first step: %+v", status.Counts)
	}
	waiting := pendingOf(&d.get("app").Status)
	gone, stale := waiting[0], waiting[1] // The next two, were it not for this.
	f.report(stale, `"intervalSeconds":1`)
	f.untilPhase(stale, "Unreachable")
	if err := d.client.MulticlusterV1alpha2().ClusterProfiles(d.namespace).Delete(t.Context(), gone, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	d.clustersFrom(10, 12)
	within(t, viewPatience, "the change of the clusters to be seen", func() bool {
		status := d.get("app").Status
		return status.Counts.Skipped == 1 && status.Counts.LeftOut == 2
	})
	status := d.get("app").Status
	if c := clusterOf(&status, gone); c.State != v1alpha1.ClusterSkipped || c.Reason != v1alpha1.ReasonGone {
		t.Errorf("the deleted one is %+v", c)
	}
	if want := []v1alpha1.ClusterReference{{Name: "c10"}, {Name: "c11"}}; !slices.Equal(status.LeftOut, want) || len(status.Clusters) != 10 {
		t.Errorf("left out are %v of %d", status.LeftOut, len(status.Clusters))
	}
	for i, want := range []v1alpha1.RolloutCounts{
		{Targets: 10, In: 5, Pending: 3, Held: 1, Skipped: 1, LeftOut: 2, Slices: 1}, // 50 % of ten, not of nine or eight.
		{Targets: 10, In: 8, Held: 1, Skipped: 1, LeftOut: 2, Slices: 1},
	} {
		if status := d.must("app", binnacleapi.VerbAdvance); status.Counts != want {
			t.Errorf("step %d: %+v, want %+v", i+1, status.Counts, want)
		}
		d.wantPublished("app")
	}
	status = d.get("app").Status
	if c := clusterOf(&status, stale); status.Phase != v1alpha1.RolloutCompleted || c.State != v1alpha1.ClusterHeld || c.Reason != v1alpha1.ReasonReportsStopped {
		t.Errorf("it is %s, and the silent one %+v", status.Phase, c)
	}
	f.report(stale, rarely)
	f.report(stale, rarely) // One is not enough after a silence.
	f.untilPhase(stale, "Ready")
	within(t, viewPatience, "the silent one to be let in when it reports again", func() bool { return d.get("app").Status.Counts.In == 9 })

	// Nine are more than the first two steps ask for, so the first that does something is the last.
	if status := d.must("app", binnacleapi.VerbAdvance); status.Counts.Targets != 11 || status.Counts.In != 11 || status.Counts.LeftOut != 0 || status.Step != "p100" {
		t.Errorf("a fresh run: %+v", status)
	}
	status = d.get("app").Status
	if got := through(&status); len(got) != 11 || !slices.Contains(got, "c10") || !slices.Contains(got, "c11") || slices.Contains(got, gone) {
		t.Errorf("after a fresh run %v are through", got)
	}
	d.wantPublished("app")
}
