package kubectl

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

var update = flag.Bool("update", false, "write testdata anew")

// wantGolden compares with a file of testdata, and wants no line wider than 80 columns.
func wantGolden(t *testing.T, name, got string) {
	t.Helper()
	for line := range strings.SplitSeq(got, "\n") {
		if n := utf8.RuneCountInString(line); n > defaultWidth {
			t.Errorf("a line of %d characters: %s", n, line)
		}
	}
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// noon is when tests look.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func before(d time.Duration) metav1.Time { return metav1.NewTime(noon.Add(-d)) }

func after(d time.Duration) *metav1.Time { return ptr.To(metav1.NewTime(noon.Add(d))) }

// newRollout is a rollout over 40 clusters in four steps that has taken the second: 10 are through.
func newRollout(change ...func(*v1alpha1.Rollout)) *v1alpha1.Rollout {
	r := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "fleet", UID: "u", ResourceVersion: "7"}}
	r.Spec.Output.DecisionKey = "web"
	for _, percent := range []int32{10, 25, 75, 100} {
		r.Spec.Steps = append(r.Spec.Steps, v1alpha1.RolloutStep{
			Name: fmt.Sprint("p", percent), Percent: &percent, Gate: &v1alpha1.RolloutGate{Success: true, Soak: &metav1.Duration{Duration: time.Hour}},
		})
	}
	s := &r.Status
	s.Phase, s.WaitingFor, s.Revision = v1alpha1.RolloutProgressing, v1alpha1.WaitSoak, 2
	s.Step = &v1alpha1.RolloutStepStatus{Name: "p25", Index: 1, Planned: 10, StartTime: before(13 * time.Minute), Soak: &v1alpha1.RolloutTimer{EndTime: after(47 * time.Minute)}}
	s.Revisions = []v1alpha1.RolloutRevision{{Revision: 1, Time: before(50 * time.Hour), Step: "p10", Clusters: 4}, {Revision: 2, Time: before(13 * time.Minute), Step: "p25", Clusters: 10}}
	s.Counts = v1alpha1.RolloutCounts{Targets: 40, In: 10, Pending: 30, Succeeded: 10, Slices: 1}
	for i := range 40 {
		c := v1alpha1.RolloutCluster{Name: fmt.Sprint("c", i), State: v1alpha1.ClusterPending}
		switch {
		case i < 4:
			c.State, c.History = v1alpha1.ClusterSucceeded, []int64{1}
		case i < 10:
			c.State, c.History = v1alpha1.ClusterSucceeded, []int64{2}
		}
		s.Clusters = append(s.Clusters, c)
	}
	for _, f := range change {
		f(r)
	}
	return r
}

// troubled has clusters that failed and that are held, in another namespace and with long names too.
func troubled(r *v1alpha1.Rollout) {
	s := &r.Status
	s.Phase, s.WaitingFor = v1alpha1.RolloutStopped, v1alpha1.WaitRetry
	s.Step.Soak = &v1alpha1.RolloutTimer{Remaining: &metav1.Duration{Duration: 20 * time.Minute}}
	s.Counts = v1alpha1.RolloutCounts{Targets: 40, In: 10, Pending: 22, Held: 8, Succeeded: 7, Failed: 3, LeftOut: 1, Slices: 1}
	s.LeftOut = []v1alpha1.ClusterReference{{Name: "new"}}
	s.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionStopped, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonBudgetExceeded, Message: "3 clusters failed: c1, c2, edge/c3"},
		{Type: v1alpha1.ConditionHeld, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonDisconnected},
	}
	for i := 1; i < 4; i++ {
		s.Clusters[i].State, s.Clusters[i].Reason = v1alpha1.ClusterFailed, "CrashLoopBackOff"
	}
	s.Clusters[3].Namespace = "edge"
	for i := 10; i < 18; i++ {
		s.Clusters[i].Name, s.Clusters[i].State = fmt.Sprintf("store-hamburg-altona-%d", i), v1alpha1.ClusterHeld
	}
}

func notStarted(r *v1alpha1.Rollout) { r.Status = v1alpha1.RolloutStatus{} }

func paused(r *v1alpha1.Rollout) {
	r.Status.Phase, r.Status.WaitingFor = v1alpha1.RolloutPaused, v1alpha1.WaitResume
	r.Status.Step.Soak = &v1alpha1.RolloutTimer{Remaining: &metav1.Duration{Duration: 20 * time.Minute}}
	r.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionPaused, Status: metav1.ConditionTrue, Reason: "Paused", Message: "by ann"}}
}

func soaked(r *v1alpha1.Rollout) { r.Status.Step.Soak.EndTime = after(-time.Second) }

func ended(phase v1alpha1.RolloutPhase) func(*v1alpha1.Rollout) {
	return func(r *v1alpha1.Rollout) { r.Status.Phase, r.Status.WaitingFor = phase, "" }
}

func approvals(needed int32) func(*v1alpha1.Rollout) {
	return func(r *v1alpha1.Rollout) {
		r.Spec.Steps[1].Gate.Approval = &needed
		r.Status.Step.Approvals = []v1alpha1.RolloutApproval{{User: "ben"}}
	}
}

func automatic(r *v1alpha1.Rollout) { r.Spec.Progression = v1alpha1.ProgressionAutomatic }
