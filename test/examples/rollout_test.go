package examples

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// syncerRoles are all that a syncer needs on the hub.
var syncerRoles = []string{"binnacle-rollout-consumer"}

func (f *fleet) syncer(key string) (stop func()) {
	f.t.Helper()
	return start(f.t, f.namespace, "syncer", syncerRoles, "-namespace="+f.namespace, "-inventory="+f.namespace, "-decision-key="+key,
		"-manifest=testdata/manifest.yaml", "-clusterprofile-provider-file="+providerFile, "-attempts=2")
}

// status is what a Rollout says of itself.
func (f *fleet) status(name string) v1alpha1.RolloutStatus {
	f.t.Helper()
	rollout, err := f.hub.BinnacleV1alpha1().Rollouts(f.namespace).Get(f.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	return rollout.Status
}

// awaitRollout waits for a state of a Rollout.
func (f *fleet) awaitRollout(name, what string, met func(v1alpha1.RolloutStatus) bool) v1alpha1.RolloutStatus {
	f.t.Helper()
	var status v1alpha1.RolloutStatus
	within(f.t, what, func() bool {
		status = f.status(name)
		return met(status)
	}, func() any {
		return fmt.Sprintf("%s at step %+v, revision %d, %+v, %+v", status.Phase, status.Step, status.Revision, status.Counts, status.Conditions)
	})
	return status
}

type verb func(context.Context, string, *v1alpha1.RolloutAction, metav1.CreateOptions) (*v1alpha1.RolloutAction, error)

// move calls a verb of a Rollout, and waits until the members are as it says.
func (f *fleet) move(what string, call verb, name string, spec v1alpha1.RolloutActionSpec, want int) {
	f.t.Helper()
	done, err := call(f.t.Context(), name, &v1alpha1.RolloutAction{Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		f.t.Fatalf("%s: %v", what, err)
	}
	if int(done.Status.Counts.In) != want {
		f.t.Errorf("%s: %d clusters are in, want %d", what, done.Status.Counts.In, want)
	}
	began := time.Now()
	f.awaitOn(what, in(f.status(name)))
	f.t.Logf("%s: %d clusters have it %s later", what, want, time.Since(began).Round(10*time.Millisecond))
}

// advance takes a step.
func (f *fleet) advance(name string) {
	f.t.Helper()
	if _, err := f.hub.BinnacleV1alpha1().Rollouts(f.namespace).Advance(f.t.Context(), name, &v1alpha1.RolloutAction{}, metav1.CreateOptions{}); err != nil {
		f.t.Fatal(err)
	}
}

// in are the clusters that a Rollout let through, sorted.
func in(status v1alpha1.RolloutStatus) []string {
	var names []string
	for _, c := range status.Clusters {
		if len(c.History)%2 == 1 {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return names
}

func waitsFor(wait v1alpha1.RolloutWait) func(v1alpha1.RolloutStatus) bool {
	return func(s v1alpha1.RolloutStatus) bool { return s.WaitingFor == wait }
}

// TestProgressiveRollout grows a decision over 40 clusters in steps that wait for the syncer's success. The syncer follows and is never told of
// steps; so it does when the rollout goes back.
func TestProgressiveRollout(t *testing.T) {
	t.Parallel() // It mostly waits.
	f := newFleet(t, "stores", 40)
	for i := range f.clusters {
		f.report(i, "")
	}
	success := &v1alpha1.RolloutGate{Success: true}
	rollouts := f.hub.BinnacleV1alpha1().Rollouts(f.namespace)
	if _, err := rollouts.Create(t.Context(), &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Name: "app"}, Spec: v1alpha1.RolloutSpec{
		Targets: v1alpha1.RolloutTargets{Selector: &v1alpha1.SelectorTarget{Namespaces: []string{f.namespace}, Labels: &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}}},
		Output:  v1alpha1.RolloutOutput{DecisionKey: "app"},
		Order:   &v1alpha1.RolloutOrder{Canaries: []v1alpha1.ClusterReference{{Name: f.clusters[0]}, {Name: f.clusters[1]}}},
		Steps: []v1alpha1.RolloutStep{{Name: "few", Percent: ptr.To[int32](10), Gate: success}, {Name: "some", Percent: ptr.To[int32](25), Gate: success},
			{Name: "most", Percent: ptr.To[int32](75), Gate: success}, {Name: "all", Percent: ptr.To[int32](100), Gate: success}},
	}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	within(t, "that all clusters are targets", func() bool {
		preview, err := rollouts.Preview(t.Context(), "app", metav1.GetOptions{})
		return err == nil && preview.Status.Targets == 40
	}, func() any { return nil })

	f.advance("app")
	if _, err := rollouts.Advance(t.Context(), "app", &v1alpha1.RolloutAction{}, metav1.CreateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("a step before the syncer said anything: %v", err)
	}
	stop := f.syncer("app")
	f.awaitOn("10 %", in(f.status("app")))
	if n := len(f.having()); n != 4 {
		t.Errorf("after the first step %d clusters have it, want 4", n)
	}
	for _, step := range []struct {
		what string
		want int
	}{{"25 %", 10}, {"75 %", 30}, {"100 %", 40}} {
		f.awaitRollout("app", "the success of the step before "+step.what, waitsFor(v1alpha1.WaitAdvance))
		f.move(step.what, rollouts.Advance, "app", v1alpha1.RolloutActionSpec{}, step.want)
	}
	f.awaitRollout("app", "the end", func(s v1alpha1.RolloutStatus) bool {
		return s.Phase == v1alpha1.RolloutCompleted && s.Counts.Succeeded == 40
	})

	// A new run from a quarter, which is ended while the syncer is away: it finds by itself what it has to remove.
	f.move("rollback", rollouts.Rollback, "app", v1alpha1.RolloutActionSpec{ToRevision: ptr.To[int64](2)}, 10)
	f.move("the new run", rollouts.Retry, "app", v1alpha1.RolloutActionSpec{}, 30)
	stop()
	if _, err := rollouts.Abort(t.Context(), "app", &v1alpha1.RolloutAction{}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if n := len(f.having()); n != 30 {
		t.Errorf("without the syncer, %d clusters have it, want 30", n)
	}
	stop = start(t, f.namespace, "syncer", nil, "-namespace="+f.namespace, "-inventory="+f.namespace, "-decision-key=app",
		"-manifest=testdata/manifest.yaml", "-clusterprofile-provider-file="+providerFile)
	f.awaitOn("the end of what the run brought", in(f.status("app")))
	if n := len(f.having()); n != 10 {
		t.Errorf("after the abort %d clusters have it, want 10", n)
	}

	// No slice is left of a Rollout that is deleted, and nothing on the members.
	if err := rollouts.Delete(t.Context(), "app", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.awaitOn("that nothing is left", nil)
	stop()
}

// TestSyncerReportsFailure has a cluster on which the manifest has no place: its failure stops the rollout, and retry goes on once it is mended.
func TestSyncerReportsFailure(t *testing.T) {
	t.Parallel() // It mostly waits.
	f := newFleet(t, "clinics", 2)
	f.clusters = append(f.clusters, "clinics-02")
	f.register(2)
	success := &v1alpha1.RolloutGate{Success: true}
	rollouts := f.hub.BinnacleV1alpha1().Rollouts(f.namespace)
	var all []v1alpha1.ClusterReference
	for _, name := range f.clusters {
		all = append(all, v1alpha1.ClusterReference{Name: name})
	}
	if _, err := rollouts.Create(t.Context(), &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Name: "app"}, Spec: v1alpha1.RolloutSpec{
		Targets: v1alpha1.RolloutTargets{Clusters: all}, Output: v1alpha1.RolloutOutput{DecisionKey: "app"}, Disconnected: v1alpha1.DisconnectedInclude,
		Order: &v1alpha1.RolloutOrder{Canaries: []v1alpha1.ClusterReference{{Name: f.clusters[2]}}},
		Steps: []v1alpha1.RolloutStep{{Name: "one", Count: ptr.To[int32](1), Gate: success}, {Name: "all", Percent: ptr.To[int32](100), Gate: success}},
	}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.syncer("app")
	f.advance("app")
	status := f.awaitRollout("app", "the stop", func(s v1alpha1.RolloutStatus) bool { return s.Phase == v1alpha1.RolloutStopped })
	if c := status.Clusters[0]; c.Name != f.clusters[2] || c.State != v1alpha1.ClusterFailed || c.Reason != "NotFound" {
		t.Errorf("the canary is %+v", c)
	}
	makeNamespace(t, f.member(2), f.clusters[2])
	if _, err := rollouts.Retry(t.Context(), "app", &v1alpha1.RolloutAction{}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.awaitRollout("app", "the success of the canary", waitsFor(v1alpha1.WaitAdvance))
	f.move("the rest", rollouts.Advance, "app", v1alpha1.RolloutActionSpec{}, 3)
	f.awaitRollout("app", "the end", func(s v1alpha1.RolloutStatus) bool { return s.Phase == v1alpha1.RolloutCompleted })
}
