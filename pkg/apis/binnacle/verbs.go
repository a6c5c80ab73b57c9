package binnacle

// RolloutVerb is a subresource of a Rollout that moves it.
type RolloutVerb string

// The subresources of a Rollout that are posted to.
const (
	// VerbAdvance starts a run, or takes its next step.
	VerbAdvance RolloutVerb = "advance"
	// VerbPause keeps a run where it is.
	VerbPause RolloutVerb = "pause"
	// VerbResume ends a pause. It takes no step.
	VerbResume RolloutVerb = "resume"
	// VerbApprove is one person's consent to the next step.
	VerbApprove RolloutVerb = "approve"
	// VerbPromote lets all the rest in at once.
	VerbPromote RolloutVerb = "promote"
	// VerbAbort ends a run and goes back to the clusters that it started from.
	VerbAbort RolloutVerb = "abort"
	// VerbRollback ends a run and goes back to a recorded revision.
	VerbRollback RolloutVerb = "rollback"
	// VerbRetry gives failed clusters, or an ended run, another try.
	VerbRetry RolloutVerb = "retry"
	// VerbFeedback is a consumer's outcome for one cluster.
	VerbFeedback RolloutVerb = "feedback"
)

// RolloutVerbs are all of them, in the order of the documentation.
var RolloutVerbs = []RolloutVerb{VerbAdvance, VerbPause, VerbResume, VerbApprove, VerbPromote, VerbAbort, VerbRollback, VerbRetry, VerbFeedback}

// Finished says whether a phase is one that no run goes on in.
func (p RolloutPhase) Finished() bool {
	return p == RolloutCompleted || p == RolloutAborted || p == RolloutRolledBack
}
