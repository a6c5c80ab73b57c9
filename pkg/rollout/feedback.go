package rollout

import (
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// Feedback notes outcomes that consumers reported. There are many at once where a step lets many clusters in, and each write of a large
// Rollout is expensive: whoever stores the status hands in together what came together. errs has the refusal of each, nil where it
// was noted. Input needs no targets.
func Feedback(in Input, outcomes []binnacle.RolloutFeedbackSpec) (result Result, errs []error) {
	r := newRun(&in)
	errs = make([]error, len(outcomes))
	noted := false
	for i, outcome := range outcomes {
		errs[i] = r.feedback(outcome)
		noted = noted || errs[i] == nil
	}
	if !noted {
		return Result{Status: *r.before.DeepCopy(), Next: r.nextTime()}, errs
	}
	return r.finish(false), errs
}

func (r *run) feedback(outcome binnacle.RolloutFeedbackSpec) error {
	if cell := Table[r.status.Phase][binnacle.VerbFeedback]; len(cell.To) == 0 {
		return r.refuse(ReasonPhase, "feedback is refused: the rollout %s", cell.Says)
	}
	if outcome.Revision != r.status.Revision {
		return r.refuse(ReasonRevision, "feedback is for revision %d, and only that for the current one counts", outcome.Revision)
	}
	ref := r.whole(outcome.Cluster)
	i, known := r.index[r.ref(ref.Namespace, ref.Name)]
	if !known || !IsThrough(&r.status.Clusters[i]) {
		return r.refuse(ReasonNotIn, "%s/%s is not through", ref.Namespace, ref.Name)
	}
	c := &r.status.Clusters[i]
	if c.State == binnacle.ClusterLeaving {
		return nil // Its outcome decides nothing.
	}
	c.State, c.Reason = binnacle.ClusterSucceeded, ""
	if outcome.Outcome == binnacle.OutcomeFailed {
		c.State, c.Reason = binnacle.ClusterFailed, outcome.Reason
	}
	return nil
}
