package rollout

import (
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// Cell is what a verb does in a phase.
type Cell struct {
	// To are the phases that may follow. Without any, the verb is refused.
	To []binnacle.RolloutPhase
	// Says is the effect or why the verb is refused, for the documentation and for the refusal.
	Says string
}

// Phases in the order of the documentation.
var Phases = []binnacle.RolloutPhase{binnacle.RolloutPending, binnacle.RolloutProgressing, binnacle.RolloutPaused, binnacle.RolloutStopped,
	binnacle.RolloutCompleted, binnacle.RolloutAborted, binnacle.RolloutRolledBack}

const (
	pending, progressing, paused = binnacle.RolloutPending, binnacle.RolloutProgressing, binnacle.RolloutPaused
	stopped, completed           = binnacle.RolloutStopped, binnacle.RolloutCompleted
	aborted, rolledBack          = binnacle.RolloutAborted, binnacle.RolloutRolledBack
	notStarted                   = "has not been started: advance starts it"
	isPaused                     = "is paused: resume first"
	isStopped                    = "is stopped: retry, abort or roll back"
	isComplete                   = "is complete: only rollback, or advance after a change of plan or targets, moves it"
	wasEnded                     = "was ended: retry starts anew"
	back                         = "ends the run and returns to the revision; takes out who came in since"
	toBase                       = "ends the run and returns to the clusters that it started from"
	recorded                     = "notes the outcome"
)

func to(says string, phases ...binnacle.RolloutPhase) Cell { return Cell{To: phases, Says: says} }
func no(says string) Cell                                  { return Cell{Says: says} }

// Table is what every verb does in every phase. A verb that it allows may still be refused for a reason that the effect names.
var Table = map[binnacle.RolloutPhase]map[binnacle.RolloutVerb]Cell{
	pending: {
		binnacle.VerbAdvance:  to("pins the targets and takes the first step; refused while there is no target, or all of the step are held", progressing, completed),
		binnacle.VerbPause:    no(notStarted),
		binnacle.VerbResume:   no(notStarted),
		binnacle.VerbApprove:  no(notStarted),
		binnacle.VerbPromote:  to("pins the targets and lets all in", progressing, completed),
		binnacle.VerbAbort:    to("ends it before it began", aborted),
		binnacle.VerbRollback: no(notStarted),
		binnacle.VerbRetry:    no(notStarted),
		binnacle.VerbFeedback: no(notStarted),
	},
	progressing: {
		binnacle.VerbAdvance:  to("takes the next step; refused while the gate is closed or all of the step are held, and after the last", progressing, completed),
		binnacle.VerbPause:    to("takes no step and lets nobody in; soak and deadline stand still; who is deleted, or leaves targets that are followed, still goes", paused),
		binnacle.VerbResume:   no("is not paused"),
		binnacle.VerbApprove:  to("adds an approval; refused where the gate asks for none, to who started the run, and to who has approved", progressing),
		binnacle.VerbPromote:  to("lets all the rest in, whatever the gates, though the hub be suspect; who does not report is held still; refused after the last step", progressing, completed),
		binnacle.VerbAbort:    to(toBase, aborted),
		binnacle.VerbRollback: to(back, rolledBack),
		binnacle.VerbRetry:    to("gives failed clusters another try under a new revision; refused where none failed, or one that is named did not", progressing),
		binnacle.VerbFeedback: to("notes the outcome; beyond the failure budget, stops", progressing, stopped, completed),
	},
	paused: {
		binnacle.VerbAdvance:  no(isPaused),
		binnacle.VerbPause:    no("is paused already"),
		binnacle.VerbResume:   to("goes on with what is left of soak and deadline; takes no step", progressing, completed),
		binnacle.VerbApprove:  to("adds an approval, as while it progresses", paused),
		binnacle.VerbPromote:  no(isPaused),
		binnacle.VerbAbort:    to(toBase, aborted),
		binnacle.VerbRollback: to(back, rolledBack),
		binnacle.VerbRetry:    to("gives failed clusters another try and stays paused", paused),
		binnacle.VerbFeedback: to("notes the outcome; beyond the failure budget, stops", paused, stopped),
	},
	stopped: {
		binnacle.VerbAdvance:  no(isStopped),
		binnacle.VerbPause:    to("pauses it besides; refused where it is paused", stopped),
		binnacle.VerbResume:   to("ends the pause and not the stop; refused where it is not paused", stopped),
		binnacle.VerbApprove:  to("adds an approval, as while it progresses", stopped),
		binnacle.VerbPromote:  no(isStopped),
		binnacle.VerbAbort:    to(toBase, aborted),
		binnacle.VerbRollback: to(back, rolledBack),
		binnacle.VerbRetry:    to("ends the stop and gives failed clusters another try; the step waits and soaks anew; a pause stays; stops again where failures beyond the budget are left", progressing, paused, stopped),
		binnacle.VerbFeedback: to("notes the outcome; success does not end the stop", stopped),
	},
	completed: {
		binnacle.VerbAdvance:  to("starts a new run from who is through; refused where neither plan nor targets changed", progressing, completed),
		binnacle.VerbPause:    no(isComplete),
		binnacle.VerbResume:   no(isComplete),
		binnacle.VerbApprove:  no(isComplete),
		binnacle.VerbPromote:  no(isComplete),
		binnacle.VerbAbort:    no(isComplete),
		binnacle.VerbRollback: to(back, rolledBack),
		binnacle.VerbRetry:    no(isComplete),
		binnacle.VerbFeedback: to(recorded, completed),
	},
	aborted:    ended(aborted),
	rolledBack: ended(rolledBack),
}

// ended is the row of a phase that a run was ended with.
func ended(phase binnacle.RolloutPhase) map[binnacle.RolloutVerb]Cell {
	row := map[binnacle.RolloutVerb]Cell{
		binnacle.VerbRollback: to("returns to the revision", rolledBack),
		binnacle.VerbRetry:    to("starts a new run from who is through, with the first step", progressing, completed),
		binnacle.VerbFeedback: to(recorded, phase),
	}
	for _, verb := range []binnacle.RolloutVerb{binnacle.VerbAdvance, binnacle.VerbPause, binnacle.VerbResume, binnacle.VerbApprove,
		binnacle.VerbPromote, binnacle.VerbAbort} {
		row[verb] = no(wasEnded)
	}
	return row
}

// phaseOf reads the phase, which a Rollout that nothing has moved yet has not.
func phaseOf(status *binnacle.RolloutStatus) binnacle.RolloutPhase {
	if status.Phase == "" {
		return binnacle.RolloutPending
	}
	return status.Phase
}
