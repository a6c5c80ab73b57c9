package integration

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	binnacleapi "github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/test/framework"
)

// TestSizesOfSteps rounds percents of small fleets up, lets everybody in once with the steps after, and says so in the preview (cases.md, 26).
func TestSizesOfSteps(t *testing.T) {
	t.Parallel()
	d := newDecider(t, adminOf(t, startStandalone(t, framework.ServerOptions{})), "sizes")
	d.clusters(7)
	for _, c := range []struct {
		percent     int32
		of, through int
	}{{10, 4, 1}, {1, 7, 1}, {33, 3, 1}, {34, 3, 2}, {50, 1, 1}, {99, 7, 7}, {50, 7, 4}, {100, 2, 2}} {
		name := fmt.Sprintf("p%d-of-%d", c.percent, c.of)
		plan := d.plan(name, 100)
		if c.percent < 100 {
			plan = d.plan(name, c.percent, 100)
		}
		plan.Spec.Targets = v1alpha1.RolloutTargets{}
		for i := range c.of {
			plan.Spec.Targets.Clusters = append(plan.Spec.Targets.Clusters, v1alpha1.ClusterReference{Name: fmt.Sprint("c", i)})
		}
		d.create(plan)
		preview, err := d.rollouts().Preview(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		status := d.must(name, binnacleapi.VerbAdvance)
		if int(status.Counts.In) != c.through || int(preview.Status.Planned) != c.through || len(preview.Status.Added) != c.through {
			t.Errorf("%d %% of %d: %d are through, the preview had %d", c.percent, c.of, status.Counts.In, preview.Status.Planned)
		}
		for status.Phase == v1alpha1.RolloutProgressing {
			status = d.must(name, binnacleapi.VerbAdvance)
		}
		if all := published(d.slices(name)); len(all) != c.of || len(slices.Compact(all)) != c.of {
			t.Errorf("%d %% of %d: in the end %v are through", c.percent, c.of, all)
		}
	}
}

// TestStepsWithoutClusters refuses to start where the targets are nobody, and passes over a ring that is nobody without asking for its approval.
func TestStepsWithoutClusters(t *testing.T) {
	t.Parallel()
	d := newDecider(t, adminOf(t, startStandalone(t, framework.ServerOptions{})), "nobody")
	d.create(d.plan("nobody", 100))
	if _, err := d.rollouts().Preview(t.Context(), "nobody", metav1.GetOptions{}); causeOf(err) != "NoTargets" {
		t.Errorf("the preview: %v", err)
	}
	if _, err := d.try("nobody", binnacleapi.VerbAdvance, v1alpha1.RolloutActionSpec{}); causeOf(err) != "NoTargets" {
		t.Errorf("advance: %v", err)
	}
	if status := d.get("nobody").Status; status.Phase != v1alpha1.RolloutPending || len(d.slices("nobody")) != 0 {
		t.Errorf("it is %s", status.Phase)
	}

	d.clusters(4)
	plan := d.plan("rings", 25, 100)
	empty := v1alpha1.RolloutStep{Name: "ring", ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"env": "nowhere"}},
		Gate: &v1alpha1.RolloutGate{Approval: ptr.To[int32](2), Pause: true}}
	plan.Spec.Steps = slices.Insert(plan.Spec.Steps, 1, empty)
	d.create(plan)
	d.must("rings", binnacleapi.VerbAdvance)
	if status := d.must("rings", binnacleapi.VerbAdvance); status.Step != "p100" || status.Phase != v1alpha1.RolloutCompleted || status.Counts.In != 4 {
		t.Errorf("after the second advance: %+v", status)
	}
	transitions := d.get("rings").Status.Transitions
	if second := transitions[1]; second.Verb != "advance" || !strings.Contains(second.Message, "ring") {
		t.Errorf("on record is %+v", second)
	}
}

// TestPercentsThatAreNone refuses what is out of range as a custom resource does, and what is no whole number as a built-in kind does, and names
// the field in any case.
func TestPercentsThatAreNone(t *testing.T) {
	both := rolloutPair(t)
	for percent, code := range map[string]int{"0": 422, "101": 422, "-1": 422, `"5"`: 400, `"5%"`: 400, "2.5": 400, "[5]": 400, "true": 400} {
		r := post("rollouts", strings.Replace(rolloutNamed("bad"), `"percent":100`, `"percent":`+percent, 1))
		mine, theirs := both.ours.do(r), both.twin.do(r)
		if mine.code != code || theirs.code != http.StatusUnprocessableEntity || !strings.Contains(mine.status.Message, "percent") {
			t.Errorf("%s: %d %s; a custom resource: %d %s", percent, mine.code, mine.status.Message, theirs.code, theirs.status.Message)
		}
		if fields := fmt.Sprint(mine.causes()); code == http.StatusUnprocessableEntity && !strings.Contains(fields, "FieldValueInvalid spec.steps[0].percent") {
			t.Errorf("%s: the causes are %s", percent, fields)
		}
	}
	if a := both.ours.do(get("rollouts/bad")); a.code != http.StatusNotFound {
		t.Errorf("something was stored: %s", a.raw)
	}
}
