package binnacle

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RolloutOutcome is what became of a cluster.
type RolloutOutcome string

const (
	// OutcomeSucceeded says that the cluster has what the decision brings it, and that it works.
	OutcomeSucceeded RolloutOutcome = "Succeeded"
	// OutcomeFailed says that it does not.
	OutcomeFailed RolloutOutcome = "Failed"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// RolloutAction is posted to the subresources of a Rollout that move it: advance, pause, resume, approve, promote, abort, rollback and
// retry. The answer has a status that says where the rollout is then. A verb that the phase does not allow, and a precondition that
// does not hold, are refused with 409.
type RolloutAction struct {
	metav1.TypeMeta
	// metadata may be left out. A name or namespace in it must be that of the Rollout. A uid or resourceVersion in it is a precondition:
	// 409 where it is not that of the Rollout.
	Metadata metav1.ObjectMeta

	// spec is what is asked for. All of it may be left out, except where a verb needs it.
	Spec RolloutActionSpec

	// status is the answer: it is ignored in a request.
	Status RolloutActionStatus
}

// RolloutActionSpec is what is asked for.
type RolloutActionSpec struct {
	// observedStep is the name of the step that the rollout must be in, empty for none yet; otherwise the answer is 409 with the
	// current step.
	ObservedStep *string

	// observedRevision is the revision that the rollout must be at; otherwise the answer is 409 with the current one.
	ObservedRevision *int64

	// idempotencyKey makes a repetition harmless: the same request under the same key changes nothing more, another request under it
	// is refused with 409. The last 20 are remembered. At most 64 characters.
	IdempotencyKey string

	// reason is why, for the record, at most 1024 characters, none of them a control character but newline and tab. promote needs one.
	Reason string

	// toRevision is the recorded revision to return to. rollback needs it; no other verb takes it.
	ToRevision *int64

	// clusters are the failed ones to try again, all where it is left out, at most 1,000. One that did not fail is refused with 409. Only
	// retry takes it, and not after the end of a run.
	Clusters []ClusterReference
}

// RolloutActionStatus is where a rollout is after an action.
type RolloutActionStatus struct {
	// phase of the rollout.
	Phase RolloutPhase
	// step of the rollout, by its name.
	Step string
	// revision of the rollout.
	Revision int64
	// waitingFor is what the rollout waits for.
	WaitingFor RolloutWait
	// counts are how many clusters are in each state.
	Counts RolloutCounts
	// repeated says that the idempotency key was known, and that nothing was changed.
	Repeated bool
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// RolloutFeedback is what became of one cluster, posted to the subresource feedback of a Rollout by a consumer of its decision. The answer
// has a status. A revision that is not the current one, and a cluster that is not through, are refused with 409.
type RolloutFeedback struct {
	metav1.TypeMeta
	// metadata may be left out. A name or namespace in it must be that of the Rollout. A uid in it is a precondition: 409 where it is not
	// that of the Rollout. A resourceVersion is refused: what counts is spec.revision.
	Metadata metav1.ObjectMeta

	// spec is what the consumer says.
	Spec RolloutFeedbackSpec

	// status is the answer: it is ignored in a request.
	Status RolloutActionStatus
}

// RolloutFeedbackSpec is what became of one cluster.
type RolloutFeedbackSpec struct {
	// cluster that it is about.
	Cluster ClusterReference

	// revision of the decision that was acted upon, as the slices carry it.
	Revision int64

	// outcome is Succeeded or Failed. A later one for the same cluster replaces it.
	Outcome RolloutOutcome

	// reason is why, in one word of CamelCase, at most 64 characters.
	Reason string
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// RolloutPreview is what a step would do, from the subresource preview of a Rollout. Nothing is changed by it.
type RolloutPreview struct {
	metav1.TypeMeta
	// metadata has the name and namespace of the Rollout.
	Metadata metav1.ObjectMeta

	// status is what the step would do.
	Status RolloutPreviewStatus
}

// RolloutPreviewStatus is what a step would do now, if all before it were taken now.
type RolloutPreviewStatus struct {
	// step that would be taken, by its name; steps between that would add nobody are passed over.
	Step string
	// fromStep is the current step, by its name.
	FromStep string
	// fromRevision is the current revision.
	FromRevision int64
	// targets are how many clusters percentages are of.
	Targets int32
	// planned is how many targets would be through.
	Planned int32
	// added are the clusters that would be let in.
	Added []ClusterReference
	// removed are the clusters that would be taken out, which means that consumers remove there what they brought.
	Removed []ClusterReference
	// held are the clusters that the step would pass over since they do not report.
	Held []ClusterReference
	// skipped are the clusters that are targets no more.
	Skipped []ClusterReference
	// leftOut are the clusters that joined and wait for the next run.
	LeftOut []ClusterReference
	// emptySteps are those passed over, by their names.
	EmptySteps []string
	// blockers are what stands before the step now, for people.
	Blockers []string
}
