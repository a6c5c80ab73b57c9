package integration

import (
	"fmt"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"

	binnacleapi "github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/rollout"
	"github.com/binnacle-dev/binnacle/test/framework"
)

// mayRefuse are cells that the table allows, with the cause by which they are refused in the state that bring makes.
var mayRefuse = map[string]string{
	"Stopped resume":    rollout.ReasonPhase,     // it is not paused
	"Completed advance": rollout.ReasonUnchanged, // neither plan nor targets changed
	"Aborted feedback":  rollout.ReasonNotIn,     // it started from nobody
}

// bring makes a Rollout of four clusters in a phase, with one failed cluster where there is a run, and a gate that asks for two approvals where the
// verb is approve.
func (d decider) bring(name string, phase binnacleapi.RolloutPhase, verb binnacleapi.RolloutVerb) {
	d.t.Helper()
	plan := d.plan(name, 50, 100)
	plan.Spec.FailureBudget = &v1alpha1.RolloutBudget{Count: ptr.To[int32](3)}
	if phase == binnacleapi.RolloutStopped {
		plan.Spec.FailureBudget = nil
	}
	if verb == binnacleapi.VerbApprove {
		plan.Spec.Steps[0].Gate = &v1alpha1.RolloutGate{Approval: ptr.To[int32](2)}
	}
	d.create(plan)
	if phase == binnacleapi.RolloutPending {
		return
	}
	starter := d
	starter.must(name, binnacleapi.VerbAdvance)
	if phase != binnacleapi.RolloutCompleted {
		if _, err := d.report(name, d.get(name).Status.Clusters[0].Name, 1, v1alpha1.OutcomeFailed); err != nil {
			d.t.Fatal(err)
		}
	}
	switch phase {
	case binnacleapi.RolloutPaused:
		d.must(name, binnacleapi.VerbPause)
	case binnacleapi.RolloutCompleted:
		d.must(name, binnacleapi.VerbPromote, v1alpha1.RolloutActionSpec{Reason: "to be complete"})
	case binnacleapi.RolloutAborted:
		d.must(name, binnacleapi.VerbAbort)
	case binnacleapi.RolloutRolledBack:
		d.must(name, binnacleapi.VerbRollback, v1alpha1.RolloutActionSpec{ToRevision: ptr.To[int64](1)})
	}
	if got := d.get(name).Status.Phase; string(got) != string(phase) {
		d.t.Fatalf("%s was brought to %s", phase, got)
	}
}

// ask calls any verb with a body that it takes.
func (d decider) ask(name string, verb binnacleapi.RolloutVerb, dryRun ...string) (*v1alpha1.RolloutActionStatus, error) {
	spec := v1alpha1.RolloutActionSpec{}
	switch verb {
	case binnacleapi.VerbFeedback:
		status := d.get(name).Status
		cluster := "c0"
		for _, c := range status.Clusters {
			if len(c.History)%2 == 1 {
				cluster = c.Name
			}
		}
		return d.report(name, cluster, max(1, status.Revision), v1alpha1.OutcomeSucceeded, dryRun...)
	case binnacleapi.VerbPromote:
		spec.Reason = "matrix"
	case binnacleapi.VerbRollback:
		spec.ToRevision = ptr.To[int64](1)
	}
	return d.try(name, verb, spec, dryRun...)
}

// judge holds what became of a verb against the table. exact says that what the table allows has to succeed, but for mayRefuse.
func judge(t *testing.T, phase v1alpha1.RolloutPhase, verb binnacleapi.RolloutVerb, status *v1alpha1.RolloutActionStatus, err error, exact bool) {
	t.Helper()
	cell := rollout.Table[binnacleapi.RolloutPhase(phase)][verb]
	switch {
	case err != nil && !apierrors.IsConflict(err) && !apierrors.IsInvalid(err):
		t.Errorf("%s in %s: %v", verb, phase, err)
	case len(cell.To) == 0 && causeOf(err) != rollout.ReasonPhase:
		t.Errorf("%s in %s: %v, %v; the table refuses it", verb, phase, status, err)
	case err == nil && !slices.Contains(cell.To, binnacleapi.RolloutPhase(status.Phase)):
		t.Errorf("%s in %s led to %s; the table has %v", verb, phase, status.Phase, cell.To)
	case len(cell.To) > 0 && err != nil && exact && causeOf(err) != mayRefuse[fmt.Sprint(phase, " ", verb)]:
		t.Errorf("%s in %s: %v; the table allows it", verb, phase, err)
	}
}

// TestRolloutVerbsByPhase calls every verb in every phase, and after it every verb again as a dry run, and holds all against the documented
// table. Dry runs change nothing.
func TestRolloutVerbsByPhase(t *testing.T) {
	s := startStandalone(t, framework.ServerOptions{})
	all := newDecider(t, adminOf(t, s), "matrix")
	all.clusters(4)
	for _, phase := range rollout.Phases {
		for _, verb := range binnacleapi.RolloutVerbs {
			t.Run(fmt.Sprint(phase, " ", verb), func(t *testing.T) {
				t.Parallel()
				d := all
				d.t = t
				name := fmt.Sprintf("%s-%s", map[binnacleapi.RolloutPhase]string{"Pending": "a", "Progressing": "b", "Paused": "c", "Stopped": "d",
					"Completed": "e", "Aborted": "f", "RolledBack": "g"}[phase], verb)
				d.bring(name, phase, verb)
				status, err := d.ask(name, verb)
				// The administrator of a standalone server is everybody, and who started a run may not approve it.
				if verb == binnacleapi.VerbApprove && causeOf(err) == rollout.ReasonApprover {
					err, status = nil, &v1alpha1.RolloutActionStatus{Phase: v1alpha1.RolloutPhase(phase)}
				}
				judge(t, v1alpha1.RolloutPhase(phase), verb, status, err, true)
				before := d.get(name)
				for _, second := range binnacleapi.RolloutVerbs {
					status, err := d.ask(name, second, "All")
					judge(t, before.Status.Phase, second, status, err, false)
				}
				if after := d.get(name); after.ResourceVersion != before.ResourceVersion {
					t.Errorf("dry runs changed it: %+v", after.Status)
				}
				d.wantPublished(name)
			})
		}
	}
}
