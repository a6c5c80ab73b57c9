package rollout

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// TestStatusIsKept changes spec and status through the store, and wants the status to stay and the generation to follow the spec.
func TestStatusIsKept(t *testing.T) {
	w := newWorld(t, 2)
	w.start(nil, 50, 100)
	before := w.now()
	update := func(change func(*binnacle.Rollout)) *binnacle.Rollout {
		t.Helper()
		changed := w.now().DeepCopy()
		change(changed)
		updated, _, err := w.Update(w.ctx(), "app", rest.DefaultUpdatedObjectInfo(changed), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return updated.(*binnacle.Rollout)
	}
	after := update(func(r *binnacle.Rollout) { r.Status = binnacle.RolloutStatus{Revision: 9} })
	if diff := cmp.Diff(before.Status, after.Status); diff != "" || after.Generation != 1 {
		t.Errorf("generation %d, status (-want +got):\n%s", after.Generation, diff)
	}
	after = update(func(r *binnacle.Rollout) { r.Spec.Progression = binnacle.ProgressionAutomatic })
	if after.Generation != 2 || after.Status.ObservedGeneration != 1 {
		t.Errorf("generation %d, observed %d", after.Generation, after.Status.ObservedGeneration)
	}
	if !w.due() {
		t.Error("one whose spec changed is not listed")
	}
	w.tick()
	if r := w.now(); r.Status.ObservedGeneration != 2 || len(w.published()) != 2 {
		t.Errorf("observed %d, %v are published", r.Status.ObservedGeneration, w.published())
	}
	changed := w.now().DeepCopy()
	changed.Spec.Output.DecisionKey = "other"
	if _, _, err := w.Update(w.ctx(), "app", rest.DefaultUpdatedObjectInfo(changed), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("another output after the start: %v", err)
	}
}

// TestRows shows rollouts as kubectl prints them.
func TestRows(t *testing.T) {
	soon := metav1.NewTime(time.Now().Add(90*time.Second + 500*time.Millisecond))
	running := &binnacle.Rollout{ObjectMeta: metav1.ObjectMeta{Name: "app"}, Spec: binnacle.RolloutSpec{Output: binnacle.RolloutOutput{DecisionKey: "key"},
		Steps: []binnacle.RolloutStep{{Name: "canary", Gate: &binnacle.RolloutGate{Soak: &metav1.Duration{Duration: time.Minute}}}, {Name: "all"}}},
		Status: binnacle.RolloutStatus{Phase: binnacle.RolloutProgressing, Step: &binnacle.RolloutStepStatus{Name: "canary", Soak: &binnacle.RolloutTimer{EndTime: &soon}},
			NextTime: &soon, Counts: binnacle.RolloutCounts{Targets: 40, In: 4}}}
	for name, test := range map[string]struct {
		rollout *binnacle.Rollout
		want    []any
	}{
		"new":     {&binnacle.Rollout{ObjectMeta: metav1.ObjectMeta{Name: "new"}, Status: binnacle.RolloutStatus{Phase: binnacle.RolloutPending}}, []any{"new", "", "0/0", "Pending", "Start", "<unknown>", "", ""}},
		"running": {running, []any{"app", "canary", "4/40", "Progressing", "Soak", "<unknown>", "key", "90s"}},
	} {
		t.Run(name, func(t *testing.T) {
			table, err := tableConvertor.ConvertToTable(t.Context(), test.rollout, nil)
			if err != nil || len(table.Rows) != 1 {
				t.Fatalf("%v, %d rows", err, len(table.Rows))
			}
			if diff := cmp.Diff(test.want, table.Rows[0].Cells); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
