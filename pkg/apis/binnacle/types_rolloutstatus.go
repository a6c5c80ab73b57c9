package binnacle

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RolloutPhase sums up how far a rollout is. Completed, Aborted and RolledBack are finished; all others are not.
type RolloutPhase string

const (
	// RolloutPending has not been started.
	RolloutPending RolloutPhase = "Pending"
	// RolloutProgressing has taken a step and is not complete.
	RolloutProgressing RolloutPhase = "Progressing"
	// RolloutPaused was paused by a person.
	RolloutPaused RolloutPhase = "Paused"
	// RolloutStopped was stopped by the failure budget or the progress deadline. It may be paused besides.
	RolloutStopped RolloutPhase = "Stopped"
	// RolloutCompleted has taken its last step and passed that step's gate.
	RolloutCompleted RolloutPhase = "Completed"
	// RolloutAborted went back to the clusters that it started from.
	RolloutAborted RolloutPhase = "Aborted"
	// RolloutRolledBack went back to an earlier revision.
	RolloutRolledBack RolloutPhase = "RolledBack"
)

// RolloutClusterState is how far a cluster is.
type RolloutClusterState string

const (
	// ClusterPending is not through yet.
	ClusterPending RolloutClusterState = "Pending"
	// ClusterHeld was passed over by a step since it does not report.
	ClusterHeld RolloutClusterState = "Held"
	// ClusterIn is through, and no consumer has said how it went.
	ClusterIn RolloutClusterState = "In"
	// ClusterSucceeded is through, and a consumer reported success.
	ClusterSucceeded RolloutClusterState = "Succeeded"
	// ClusterFailed is through, and a consumer reported failure.
	ClusterFailed RolloutClusterState = "Failed"
	// ClusterSkipped is a target no more.
	ClusterSkipped RolloutClusterState = "Skipped"
	// ClusterLeaving was through before the run and is no target of it: the last step takes it out.
	ClusterLeaving RolloutClusterState = "Leaving"
)

// Reasons of a cluster's state.
const (
	// ReasonGone is of a skipped cluster whose ClusterProfile was deleted.
	ReasonGone = "Gone"
	// ReasonNotTargeted is of a skipped cluster that the targets do not name any more.
	ReasonNotTargeted = "NotTargeted"
	// ReasonJoined is of a pending cluster that joined after the start and waits for the last step.
	ReasonJoined = "Joined"
)

// Conditions of a Rollout.
const (
	// ConditionComplete says whether the run is complete.
	ConditionComplete = "Complete"
	// ConditionPaused says whether a person paused the rollout.
	ConditionPaused = "Paused"
	// ConditionStopped says whether the failure budget or the progress deadline stopped the rollout, and names clusters.
	ConditionStopped = "Stopped"
	// ConditionHeld says whether clusters, or all of them, are kept back since they do not report.
	ConditionHeld = "Held"
	// ConditionDrifted says whether clusters joined that the run leaves out.
	ConditionDrifted = "Drifted"
	// ConditionBlocked says whether something keeps the server from what is due by itself: nobody is let in, and only who is deleted goes.
	ConditionBlocked = "Blocked"
)

// Reasons of the conditions of a Rollout. MassSilence is one of Held too.
const (
	// ReasonBudgetExceeded says that more clusters failed than the failure budget allows.
	ReasonBudgetExceeded = "BudgetExceeded"
	// ReasonDeadlineExceeded says that the clusters of a step were not settled in time.
	ReasonDeadlineExceeded = "DeadlineExceeded"
	// ReasonDisconnected says that clusters do not report.
	ReasonDisconnected = "Disconnected"
	// ReasonTerminating says that ClusterProfiles are being deleted. It is of held clusters too.
	ReasonTerminating = "Terminating"
	// ReasonExpression says that the expression of the targets cannot be evaluated, as for its cost.
	ReasonExpression = "Expression"
	// ReasonNameTaken says that a slice would have the name of somebody else's PlacementDecision.
	ReasonNameTaken = "NameTaken"
	// ReasonDecisionIncomplete says that the slices of the targets' decision have not been whole for 30 s.
	ReasonDecisionIncomplete = "DecisionIncomplete"
)

// RolloutWait is what a rollout waits for.
type RolloutWait string

const (
	// WaitStart waits for the first advance.
	WaitStart RolloutWait = "Start"
	// WaitAdvance waits for a person to advance.
	WaitAdvance RolloutWait = "Advance"
	// WaitSuccess waits for clusters to be settled.
	WaitSuccess RolloutWait = "Success"
	// WaitSoak waits for time to pass.
	WaitSoak RolloutWait = "Soak"
	// WaitApproval waits for people to approve.
	WaitApproval RolloutWait = "Approval"
	// WaitStep waits for the server to take the next step, which it does at once unless clusters do not report.
	WaitStep RolloutWait = "Step"
	// WaitResume waits for a person to resume.
	WaitResume RolloutWait = "Resume"
	// WaitRetry waits for a person to retry, abort or roll back.
	WaitRetry RolloutWait = "Retry"
)

// RolloutStatus is how far a rollout is. Times are by the clock of the server, in whole seconds.
type RolloutStatus struct {
	// observedGeneration is the metadata.generation that the status was computed for.
	ObservedGeneration int64

	// phase sums up how far the rollout is.
	Phase RolloutPhase

	// waitingFor is what the rollout waits for, the first of several; nothing once it is finished. It is as of the last change, since nothing is
	// stored as time merely passes: once nextTime is over, tables say what is waited for then.
	WaitingFor RolloutWait

	// planHash is a hash of the targets, the order and the steps that the run goes by.
	PlanHash string

	// step is the step that was taken last, nothing before the start.
	Step *RolloutStepStatus

	// revision counts the changes of who is through. The slices carry it as their decision-revision.
	Revision int64

	// baseRevision is the revision that the run started from and that abort returns to; 0 is nobody.
	BaseRevision int64

	// startedBy is the user who started the run. It may not approve.
	StartedBy string

	// startTime is when the run was started.
	StartTime *metav1.Time

	// completionTime is when the run was finished.
	CompletionTime *metav1.Time

	// nextTime is the next moment at which something happens by itself, such as the end of a soak; nothing where nothing does. It stays when it
	// is over, until something else changes.
	NextTime *metav1.Time

	// counts are how many clusters are in each state.
	Counts RolloutCounts

	// conditions are Complete, Paused, Stopped, Held, Drifted and Blocked.
	Conditions []metav1.Condition

	// clusters are the targets in their order, and who was through before.
	Clusters []RolloutCluster

	// leftOut are the first 100 clusters in alphabetical order that joined the targets and wait for the next run.
	LeftOut []ClusterReference

	// transitions are the last 20 things that moved the rollout, the newest last.
	Transitions []RolloutTransition

	// revisions are the last 20 that rollback may return to, the newest last.
	Revisions []RolloutRevision

	// requests are the last 20 that carried an idempotency key.
	Requests []RolloutRequest
}

// RolloutStepStatus is the step that was taken last.
type RolloutStepStatus struct {
	// name of the step.
	Name string
	// index of the step, from 0.
	Index int32
	// planned is how many targets are to be through after the step.
	Planned int32
	// startTime is when the step was taken.
	StartTime metav1.Time
	// settledTime is when all clusters that are through were settled first, where the gate waits for success.
	SettledTime *metav1.Time
	// soak is the timer of the gate's soak, nothing before it runs.
	Soak *RolloutTimer
	// deadline is the timer of the progress deadline, nothing once all were settled.
	Deadline *RolloutTimer
	// approvals of the gate, in the order in which they came.
	Approvals []RolloutApproval
}

// RolloutTimer is a time that runs, or one that is halted while the rollout is paused or stopped.
type RolloutTimer struct {
	// endTime is when the time is over, while it runs.
	EndTime *metav1.Time
	// remaining is what is left of it, while it is halted.
	Remaining *metav1.Duration
}

// RolloutApproval is one person's approval of what stands before the next step.
type RolloutApproval struct {
	// user who approved.
	User string
	// time of the approval.
	Time metav1.Time
	// reason that was given.
	Reason string
}

// RolloutCounts are how many clusters there are.
type RolloutCounts struct {
	// targets of the run. Who was skipped after the start counts, so that percentages keep their meaning.
	Targets int32
	// in is how many clusters are through, whatever became of them.
	In int32
	// pending is how many targets are not through, without those that are held.
	Pending int32
	// held is how many targets are kept back since they do not report.
	Held int32
	// succeeded is how many are through with success.
	Succeeded int32
	// failed is how many are through and failed.
	Failed int32
	// skipped is how many targets of the run are targets no more.
	Skipped int32
	// leftOut is how many clusters joined the targets and wait for the next run.
	LeftOut int32
	// slices is how many PlacementDecisions the rollout publishes.
	Slices int32
}

// RolloutCluster is one cluster of a rollout. There may be 10,000 in a status, so that every byte counts.
type RolloutCluster struct {
	// name of the ClusterProfile.
	Name string
	// namespace of the ClusterProfile: that of the Rollout where it is left out.
	Namespace string
	// state is how far the cluster is.
	State RolloutClusterState
	// reason of the state, one word, where the state does not say it all: why the cluster is held or skipped, or why it failed.
	Reason string
	// slice is the index of the PlacementDecision that the cluster is in, while it is through; 0 is left out.
	Slice int32
	// history are the revisions with which the cluster came in and went out, in turn. With an odd number of them it is through. What
	// no recorded revision needs is forgotten.
	History []int64
}

// RolloutTransition is something that moved a rollout.
type RolloutTransition struct {
	// time of the transition.
	Time metav1.Time
	// verb is the subresource that was called, or what the server did by itself: step, join, leave, stop or complete.
	Verb string
	// user who called it. The server is binnacle.dev/automatic.
	User string
	// groups of the user, the first 20.
	Groups []string
	// reason that was given.
	Reason string
	// phase after the transition.
	Phase RolloutPhase
	// step after the transition, by its name.
	Step string
	// revision after the transition.
	Revision int64
	// message says more, for people: which steps were skipped as empty, which clusters stopped the rollout.
	Message string
}

// RolloutRevision is one that rollback may return to.
type RolloutRevision struct {
	// revision is its number.
	Revision int64
	// time at which it was made.
	Time metav1.Time
	// step that it was made by, by its name.
	Step string
	// clusters is how many were through.
	Clusters int32
}

// RolloutRequest is a request that carried an idempotency key.
type RolloutRequest struct {
	// key that the request carried.
	Key string
	// hash of the verb, the user and the body, so that another request under the key is refused.
	Hash string
	// time of the request.
	Time metav1.Time
}
