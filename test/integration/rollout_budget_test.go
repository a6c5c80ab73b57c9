package integration

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	binnacleapi "github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/test/framework"
)

// outcome reports for a cluster under the current revision.
func (d decider) outcome(name, cluster string, outcome v1alpha1.RolloutOutcome) {
	d.t.Helper()
	if _, err := d.report(name, cluster, d.get(name).Status.Revision, outcome); err != nil {
		d.t.Fatal(err)
	}
}

// inState are the clusters of a rollout that are in a state, sorted.
func inState(status *v1alpha1.RolloutStatus, state v1alpha1.RolloutClusterState) (names []string) {
	for _, c := range status.Clusters {
		if c.State == state {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return names
}

// halfOfTen starts a rollout over ten clusters of which two may fail, and lets the first five in, four of which have an outcome then: two failed
// and two succeeded. Nobody hears of the fifth.
func (d decider) halfOfTen(name string) (members []string) {
	d.t.Helper()
	plan := d.plan(name, 50, 100)
	plan.Spec.FailureBudget = &v1alpha1.RolloutBudget{Percent: ptr.To[int32](20)}
	plan.Spec.Steps[0].Gate = &v1alpha1.RolloutGate{Success: true}
	d.create(plan)
	d.must(name, binnacleapi.VerbAdvance)
	members = through(&d.get(name).Status)
	for i, outcome := range []v1alpha1.RolloutOutcome{v1alpha1.OutcomeFailed, v1alpha1.OutcomeFailed, v1alpha1.OutcomeSucceeded, v1alpha1.OutcomeSucceeded} {
		d.outcome(name, members[i], outcome)
	}
	return members
}

// TestFailureBudget spends a budget of 20 % of ten clusters, the last by a cluster that had succeeded. The rollout stops and names the clusters; a
// silent one is no success; a resume does not let the failed ones go on, and a retry only those that it names (cases.md, 27).
func TestFailureBudget(t *testing.T) {
	t.Parallel()
	d := newDecider(t, adminOf(t, startStandalone(t, framework.ServerOptions{})), "budget")
	d.clusters(10)
	members := d.halfOfTen("app")
	status := d.get("app").Status
	if _, err := d.try("app", binnacleapi.VerbAdvance, v1alpha1.RolloutActionSpec{}); causeOf(err) != "Gate" || status.Phase != v1alpha1.RolloutProgressing || status.WaitingFor != v1alpha1.WaitSuccess {
		t.Errorf("two failed, one is silent, and an advance says %v while it waits for %s", err, status.WaitingFor)
	}
	d.outcome("app", members[3], v1alpha1.OutcomeFailed)
	wantStopped := func(when string) {
		t.Helper()
		status := d.get("app").Status
		condition := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStopped)
		if status.Phase != v1alpha1.RolloutStopped || condition == nil || condition.Status != "True" || condition.Reason != v1alpha1.ReasonBudgetExceeded {
			t.Fatalf("%s it is %s with %+v", when, status.Phase, condition)
		}
		for i, member := range members {
			if named, failed := strings.Contains(condition.Message, member), i != 2 && i != 4; named != failed {
				t.Errorf("%s, of %s the condition says %q", when, member, condition.Message)
			}
		}
		if failed := inState(&status, v1alpha1.ClusterFailed); len(failed) != 3 || len(through(&status)) != 5 {
			t.Errorf("%s %v failed, of %v", when, failed, through(&status))
		}
	}
	wantStopped("after the third failure")
	if c := clusterOf(ptr.To(d.get("app").Status), members[4]); c.State != v1alpha1.ClusterIn {
		t.Errorf("the silent one is %+v", c)
	}
	for _, verb := range []binnacleapi.RolloutVerb{binnacleapi.VerbAdvance, binnacleapi.VerbPromote, binnacleapi.VerbResume} {
		if _, err := d.try("app", verb, v1alpha1.RolloutActionSpec{Reason: "x"}); causeOf(err) != "Phase" {
			t.Errorf("%s of a stopped one: %v", verb, err)
		}
	}
	d.must("app", binnacleapi.VerbPause)
	d.must("app", binnacleapi.VerbResume)
	wantStopped("after a pause and a resume")

	before := d.get("app").Status.Revision
	d.must("app", binnacleapi.VerbRetry, v1alpha1.RolloutActionSpec{Clusters: []v1alpha1.ClusterReference{{Name: members[0]}}})
	status = d.get("app").Status
	if failed := inState(&status, v1alpha1.ClusterFailed); status.Phase != v1alpha1.RolloutProgressing || !slices.Equal(failed, []string{members[1], members[3]}) || status.Revision != before+1 {
		t.Errorf("after a retry of %s it is %s at revision %d of %d, failed are %v", members[0], status.Phase, status.Revision, before, failed)
	}
	if _, err := d.report("app", members[0], before, v1alpha1.OutcomeSucceeded); causeOf(err) != "Revision" {
		t.Errorf("an outcome of the first try: %v", err)
	}
	for _, member := range []string{members[0], members[4]} {
		d.outcome("app", member, v1alpha1.OutcomeSucceeded)
	}
	if status := d.must("app", binnacleapi.VerbAdvance); status.Counts.In != 10 || status.Counts.Failed != 2 {
		t.Errorf("after the last step: %+v", status)
	}
}

// TestPauseWhileItStops pauses rollouts at the moment at which they stop. Neither undoes the other, whichever comes first; and a resume ends the
// pause only, a retry the stop only.
func TestPauseWhileItStops(t *testing.T) {
	t.Parallel()
	d := newDecider(t, adminOf(t, startStandalone(t, framework.ServerOptions{})), "budget")
	d.clusters(10)
	order := map[string]int{}
	for i := range 8 {
		name := fmt.Sprint("app-", i)
		members, revision := d.halfOfTen(name), d.get(name).Status.Revision
		var both sync.WaitGroup
		both.Go(func() { d.must(name, binnacleapi.VerbPause) })
		both.Go(func() {
			if _, err := d.report(name, members[4], revision, v1alpha1.OutcomeFailed); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		status := d.get(name).Status
		verbs := verbsOf(&status)
		order[strings.Join(verbs[1:], " ")]++
		is := func(condition string) bool {
			return meta.IsStatusConditionTrue(d.get(name).Status.Conditions, condition)
		}
		if status.Phase != v1alpha1.RolloutStopped || !is(v1alpha1.ConditionStopped) || !is(v1alpha1.ConditionPaused) || len(verbs) != 3 {
			t.Fatalf("it is %s after %v: %+v", status.Phase, verbs, status.Conditions)
		}
		first, second, left := binnacleapi.VerbResume, binnacleapi.VerbRetry, v1alpha1.RolloutStopped
		if i%2 == 1 {
			first, second, left = second, first, v1alpha1.RolloutPaused
		}
		if status := d.must(name, first); status.Phase != left {
			t.Errorf("after %s it is %s", first, status.Phase)
		}
		if status := d.must(name, second); status.Phase != v1alpha1.RolloutProgressing || status.Counts.In != 5 {
			t.Errorf("after %s and %s it is %+v", first, second, status)
		}
	}
	t.Logf("in this order: %v", order)
}
