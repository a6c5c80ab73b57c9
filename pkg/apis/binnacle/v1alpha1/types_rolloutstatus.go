package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RolloutPhase sums up how far a rollout is. Completed, Aborted and RolledBack are finished; all others are not.
// +enum
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
// +enum
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
// +enum
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
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`

	// phase sums up how far the rollout is.
	// +optional
	Phase RolloutPhase `json:"phase,omitempty" protobuf:"bytes,2,opt,name=phase,casttype=RolloutPhase"`

	// waitingFor is what the rollout waits for, the first of several; nothing once it is finished. It is as of the last change, since nothing is
	// stored as time merely passes: once nextTime is over, tables say what is waited for then.
	// +optional
	WaitingFor RolloutWait `json:"waitingFor,omitempty" protobuf:"bytes,3,opt,name=waitingFor,casttype=RolloutWait"`

	// planHash is a hash of the targets, the order and the steps that the run goes by.
	// +optional
	PlanHash string `json:"planHash,omitempty" protobuf:"bytes,4,opt,name=planHash"`

	// step is the step that was taken last, nothing before the start.
	// +optional
	Step *RolloutStepStatus `json:"step,omitempty" protobuf:"bytes,5,opt,name=step"`

	// revision counts the changes of who is through. The slices carry it as their decision-revision.
	// +optional
	Revision int64 `json:"revision,omitempty" protobuf:"varint,6,opt,name=revision"`

	// baseRevision is the revision that the run started from and that abort returns to; 0 is nobody.
	// +optional
	BaseRevision int64 `json:"baseRevision,omitempty" protobuf:"varint,7,opt,name=baseRevision"`

	// startedBy is the user who started the run. It may not approve.
	// +optional
	StartedBy string `json:"startedBy,omitempty" protobuf:"bytes,8,opt,name=startedBy"`

	// startTime is when the run was started.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty" protobuf:"bytes,9,opt,name=startTime"`

	// completionTime is when the run was finished.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty" protobuf:"bytes,10,opt,name=completionTime"`

	// nextTime is the next moment at which something happens by itself, such as the end of a soak; nothing where nothing does. It stays when it
	// is over, until something else changes.
	// +optional
	NextTime *metav1.Time `json:"nextTime,omitempty" protobuf:"bytes,11,opt,name=nextTime"`

	// counts are how many clusters are in each state.
	// +optional
	Counts RolloutCounts `json:"counts,omitempty,omitzero" protobuf:"bytes,12,opt,name=counts"`

	// conditions are Complete, Paused, Stopped, Held, Drifted and Blocked.
	// +listType=map
	// +listMapKey=type
	// +optional
	// +k8s:optional
	Conditions []metav1.Condition `json:"conditions,omitempty" protobuf:"bytes,13,rep,name=conditions"`

	// clusters are the targets in their order, and who was through before.
	// +listType=atomic
	// +optional
	Clusters []RolloutCluster `json:"clusters,omitempty" protobuf:"bytes,14,rep,name=clusters"`

	// leftOut are the first 100 clusters in alphabetical order that joined the targets and wait for the next run.
	// +listType=atomic
	// +optional
	// +k8s:optional
	LeftOut []ClusterReference `json:"leftOut,omitempty" protobuf:"bytes,15,rep,name=leftOut"`

	// transitions are the last 20 things that moved the rollout, the newest last.
	// +listType=atomic
	// +optional
	Transitions []RolloutTransition `json:"transitions,omitempty" protobuf:"bytes,16,rep,name=transitions"`

	// revisions are the last 20 that rollback may return to, the newest last.
	// +listType=atomic
	// +optional
	Revisions []RolloutRevision `json:"revisions,omitempty" protobuf:"bytes,17,rep,name=revisions"`

	// requests are the last 20 that carried an idempotency key.
	// +listType=atomic
	// +optional
	Requests []RolloutRequest `json:"requests,omitempty" protobuf:"bytes,18,rep,name=requests"`
}

// RolloutStepStatus is the step that was taken last.
type RolloutStepStatus struct {
	// name of the step.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// index of the step, from 0.
	Index int32 `json:"index" protobuf:"varint,2,opt,name=index"`
	// planned is how many targets are to be through after the step.
	Planned int32 `json:"planned" protobuf:"varint,3,opt,name=planned"`
	// startTime is when the step was taken.
	StartTime metav1.Time `json:"startTime" protobuf:"bytes,4,opt,name=startTime"`
	// settledTime is when all clusters that are through were settled first, where the gate waits for success.
	// +optional
	SettledTime *metav1.Time `json:"settledTime,omitempty" protobuf:"bytes,5,opt,name=settledTime"`
	// soak is the timer of the gate's soak, nothing before it runs.
	// +optional
	Soak *RolloutTimer `json:"soak,omitempty" protobuf:"bytes,6,opt,name=soak"`
	// deadline is the timer of the progress deadline, nothing once all were settled.
	// +optional
	Deadline *RolloutTimer `json:"deadline,omitempty" protobuf:"bytes,7,opt,name=deadline"`
	// approvals of the gate, in the order in which they came.
	// +listType=atomic
	// +optional
	Approvals []RolloutApproval `json:"approvals,omitempty" protobuf:"bytes,8,rep,name=approvals"`
}

// RolloutTimer is a time that runs, or one that is halted while the rollout is paused or stopped.
type RolloutTimer struct {
	// endTime is when the time is over, while it runs.
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty" protobuf:"bytes,1,opt,name=endTime"`
	// remaining is what is left of it, while it is halted.
	// +optional
	Remaining *metav1.Duration `json:"remaining,omitempty" protobuf:"bytes,2,opt,name=remaining"`
}

// RolloutApproval is one person's approval of what stands before the next step.
type RolloutApproval struct {
	// user who approved.
	User string `json:"user" protobuf:"bytes,1,opt,name=user"`
	// time of the approval.
	Time metav1.Time `json:"time" protobuf:"bytes,2,opt,name=time"`
	// reason that was given.
	// +optional
	Reason string `json:"reason,omitempty" protobuf:"bytes,3,opt,name=reason"`
}

// RolloutCounts are how many clusters there are.
type RolloutCounts struct {
	// targets of the run. Who was skipped after the start counts, so that percentages keep their meaning.
	Targets int32 `json:"targets" protobuf:"varint,1,opt,name=targets"`
	// in is how many clusters are through, whatever became of them.
	In int32 `json:"in" protobuf:"varint,2,opt,name=in"`
	// pending is how many targets are not through, without those that are held.
	// +optional
	Pending int32 `json:"pending,omitempty" protobuf:"varint,3,opt,name=pending"`
	// held is how many targets are kept back since they do not report.
	// +optional
	Held int32 `json:"held,omitempty" protobuf:"varint,4,opt,name=held"`
	// succeeded is how many are through with success.
	// +optional
	Succeeded int32 `json:"succeeded,omitempty" protobuf:"varint,5,opt,name=succeeded"`
	// failed is how many are through and failed.
	// +optional
	Failed int32 `json:"failed,omitempty" protobuf:"varint,6,opt,name=failed"`
	// skipped is how many targets of the run are targets no more.
	// +optional
	Skipped int32 `json:"skipped,omitempty" protobuf:"varint,7,opt,name=skipped"`
	// leftOut is how many clusters joined the targets and wait for the next run.
	// +optional
	LeftOut int32 `json:"leftOut,omitempty" protobuf:"varint,8,opt,name=leftOut"`
	// slices is how many PlacementDecisions the rollout publishes.
	// +optional
	Slices int32 `json:"slices,omitempty" protobuf:"varint,9,opt,name=slices"`
}

// RolloutCluster is one cluster of a rollout. There may be 10,000 in a status, so that every byte counts.
type RolloutCluster struct {
	// name of the ClusterProfile.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// namespace of the ClusterProfile: that of the Rollout where it is left out.
	// +optional
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,2,opt,name=namespace"`
	// state is how far the cluster is.
	State RolloutClusterState `json:"state" protobuf:"bytes,3,opt,name=state,casttype=RolloutClusterState"`
	// reason of the state, one word, where the state does not say it all: why the cluster is held or skipped, or why it failed.
	// +optional
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	// slice is the index of the PlacementDecision that the cluster is in, while it is through; 0 is left out.
	// +optional
	Slice int32 `json:"slice,omitempty" protobuf:"varint,5,opt,name=slice"`
	// history are the revisions with which the cluster came in and went out, in turn. With an odd number of them it is through. What
	// no recorded revision needs is forgotten.
	// +listType=atomic
	// +optional
	History []int64 `json:"history,omitempty" protobuf:"varint,6,rep,name=history"`
}

// RolloutTransition is something that moved a rollout.
type RolloutTransition struct {
	// time of the transition.
	Time metav1.Time `json:"time" protobuf:"bytes,1,opt,name=time"`
	// verb is the subresource that was called, or what the server did by itself: step, join, leave, stop or complete.
	Verb string `json:"verb" protobuf:"bytes,2,opt,name=verb"`
	// user who called it. The server is binnacle.dev/automatic.
	User string `json:"user" protobuf:"bytes,3,opt,name=user"`
	// groups of the user, the first 20.
	// +listType=atomic
	// +optional
	Groups []string `json:"groups,omitempty" protobuf:"bytes,4,rep,name=groups"`
	// reason that was given.
	// +optional
	Reason string `json:"reason,omitempty" protobuf:"bytes,5,opt,name=reason"`
	// phase after the transition.
	Phase RolloutPhase `json:"phase" protobuf:"bytes,6,opt,name=phase,casttype=RolloutPhase"`
	// step after the transition, by its name.
	// +optional
	Step string `json:"step,omitempty" protobuf:"bytes,7,opt,name=step"`
	// revision after the transition.
	// +optional
	Revision int64 `json:"revision,omitempty" protobuf:"varint,8,opt,name=revision"`
	// message says more, for people: which steps were skipped as empty, which clusters stopped the rollout.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,9,opt,name=message"`
}

// RolloutRevision is one that rollback may return to.
type RolloutRevision struct {
	// revision is its number.
	Revision int64 `json:"revision" protobuf:"varint,1,opt,name=revision"`
	// time at which it was made.
	Time metav1.Time `json:"time" protobuf:"bytes,2,opt,name=time"`
	// step that it was made by, by its name.
	// +optional
	Step string `json:"step,omitempty" protobuf:"bytes,3,opt,name=step"`
	// clusters is how many were through.
	Clusters int32 `json:"clusters" protobuf:"varint,4,opt,name=clusters"`
}

// RolloutRequest is a request that carried an idempotency key.
type RolloutRequest struct {
	// key that the request carried.
	Key string `json:"key" protobuf:"bytes,1,opt,name=key"`
	// hash of the verb, the user and the body, so that another request under the key is refused.
	Hash string `json:"hash" protobuf:"bytes,2,opt,name=hash"`
	// time of the request.
	Time metav1.Time `json:"time" protobuf:"bytes,3,opt,name=time"`
}
