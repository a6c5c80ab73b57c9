package rollout

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	planner "github.com/binnacle-dev/binnacle/pkg/rollout"
)

// tell posts an outcome, as a consumer does.
func (w *world) tell(ctx context.Context, body binnacle.RolloutFeedback, dryRun ...string) (*binnacle.RolloutFeedback, error) {
	w.t.Helper()
	info, _ := request.RequestInfoFrom(ctx)
	asked := *info
	asked.Subresource = "feedback"
	ctx = request.WithRequestInfo(ctx, &asked)
	served := Subresources(runtime.NewScheme(), w.mover)[string(binnacle.VerbFeedback)].(*FeedbackREST)
	served.Strategy = w.CreateStrategy.(strategy).Strategy
	done, err := served.Create(ctx, "app", &body, rest.ValidateAllObjectFunc, &metav1.CreateOptions{DryRun: dryRun})
	if err != nil {
		return nil, err
	}
	return done.(*binnacle.RolloutFeedback), nil
}

// TestBodiesNameWhatTheyAreAbout gives a uid and a resourceVersion in the metadata of a body.
func TestBodiesNameWhatTheyAreAbout(t *testing.T) {
	w := newWorld(t, 4)
	w.start(nil, 25, 50, 100)
	stored := w.now()
	once := binnacle.RolloutActionSpec{IdempotencyKey: "k"}
	for _, test := range []struct {
		name, uid, version, cause string
	}{
		{"another uid", "other", "", planner.ReasonPrecondition},
		{"another uid, this version", "other", stored.ResourceVersion, planner.ReasonPrecondition},
		{"another version", "", "1", planner.ReasonPrecondition},
		{"what is stored", string(stored.UID), stored.ResourceVersion, ""},
		{"a repetition, which its own first try made old", string(stored.UID), stored.ResourceVersion, ""},
	} {
		body := asked(once)
		body.Metadata.UID, body.Metadata.ResourceVersion = types.UID(test.uid), test.version
		if _, err := w.ask("app", binnacle.VerbAdvance, body); cause(err) != test.cause || (err == nil) != (test.cause == "") {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if revision := w.now().Status.Revision; revision != 2 {
		t.Errorf("at revision %d", revision)
	}
	outcome := binnacle.RolloutFeedback{Spec: binnacle.RolloutFeedbackSpec{
		Cluster: binnacle.ClusterReference{Name: w.through()[0]}, Revision: 2, Outcome: binnacle.OutcomeSucceeded}}
	for _, dryRun := range [][]string{{"All"}, nil} {
		outcome.Metadata = metav1.ObjectMeta{UID: "other"}
		if _, err := w.tell(w.ctx(), outcome, dryRun...); !apierrors.IsConflict(err) || cause(err) != planner.ReasonPrecondition {
			t.Errorf("feedback for another uid: %v", err)
		}
		outcome.Metadata = metav1.ObjectMeta{ResourceVersion: stored.ResourceVersion}
		if _, err := w.tell(w.ctx(), outcome, dryRun...); !apierrors.IsInvalid(err) {
			t.Errorf("feedback with a resourceVersion: %v", err)
		}
		outcome.Metadata = metav1.ObjectMeta{UID: stored.UID}
		if done, err := w.tell(w.ctx(), outcome, dryRun...); err != nil || done.Status.Counts.Succeeded != 1 {
			t.Errorf("feedback: %v", err)
		}
	}
}
