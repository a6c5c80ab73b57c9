package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RolloutOutcome is what became of a cluster.
// +enum
// +k8s:enum
type RolloutOutcome string

const (
	// OutcomeSucceeded says that the cluster has what the decision brings it, and that it works.
	OutcomeSucceeded RolloutOutcome = "Succeeded"
	// OutcomeFailed says that it does not.
	OutcomeFailed RolloutOutcome = "Failed"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +k8s:supportsSubresource="/advance"
// +k8s:supportsSubresource="/pause"
// +k8s:supportsSubresource="/resume"
// +k8s:supportsSubresource="/approve"
// +k8s:supportsSubresource="/promote"
// +k8s:supportsSubresource="/abort"
// +k8s:supportsSubresource="/rollback"
// +k8s:supportsSubresource="/retry"

// RolloutAction is posted to the subresources of a Rollout that move it: advance, pause, resume, approve, promote, abort, rollback and
// retry. The answer has a status that says where the rollout is then. A verb that the phase does not allow, and a precondition that
// does not hold, are refused with 409.
type RolloutAction struct {
	metav1.TypeMeta `json:",inline"`
	// metadata may be left out. A name or namespace in it must be that of the Rollout. A uid or resourceVersion in it is a precondition:
	// 409 where it is not that of the Rollout.
	// +optional
	Metadata metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is what is asked for. All of it may be left out, except where a verb needs it.
	// +optional
	Spec RolloutActionSpec `json:"spec,omitempty,omitzero" protobuf:"bytes,2,opt,name=spec"`

	// status is the answer: it is ignored in a request.
	// +optional
	Status RolloutActionStatus `json:"status,omitempty,omitzero" protobuf:"bytes,3,opt,name=status"`
}

// RolloutActionSpec is what is asked for.
type RolloutActionSpec struct {
	// observedStep is the name of the step that the rollout must be in, empty for none yet; otherwise the answer is 409 with the
	// current step.
	// +optional
	ObservedStep *string `json:"observedStep,omitempty" protobuf:"bytes,1,opt,name=observedStep"`

	// observedRevision is the revision that the rollout must be at; otherwise the answer is 409 with the current one.
	// +optional
	ObservedRevision *int64 `json:"observedRevision,omitempty" protobuf:"varint,2,opt,name=observedRevision"`

	// idempotencyKey makes a repetition harmless: the same request under the same key changes nothing more, another request under it
	// is refused with 409. The last 20 are remembered. At most 64 characters.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=64
	// +k8s:validation:maxLength=64
	IdempotencyKey string `json:"idempotencyKey,omitempty" protobuf:"bytes,3,opt,name=idempotencyKey"`

	// reason is why, for the record, at most 1024 characters, none of them a control character but newline and tab. promote needs one.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=1024
	// +k8s:validation:maxLength=1024
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`

	// toRevision is the recorded revision to return to. rollback needs it; no other verb takes it.
	// +optional
	// +k8s:optional
	// +k8s:minimum=1
	// +k8s:validation:minimum=1
	ToRevision *int64 `json:"toRevision,omitempty" protobuf:"varint,5,opt,name=toRevision"`

	// clusters are the failed ones to try again, all where it is left out, at most 1,000. One that did not fail is refused with 409. Only
	// retry takes it, and not after the end of a run.
	// +listType=atomic
	// +optional
	// +k8s:optional
	// +k8s:maxItems=1000
	// +k8s:validation:maxItems=1000
	Clusters []ClusterReference `json:"clusters,omitempty" protobuf:"bytes,6,rep,name=clusters"`
}

// RolloutActionStatus is where a rollout is after an action.
type RolloutActionStatus struct {
	// phase of the rollout.
	// +optional
	Phase RolloutPhase `json:"phase,omitempty" protobuf:"bytes,1,opt,name=phase,casttype=RolloutPhase"`
	// step of the rollout, by its name.
	// +optional
	Step string `json:"step,omitempty" protobuf:"bytes,2,opt,name=step"`
	// revision of the rollout.
	// +optional
	Revision int64 `json:"revision,omitempty" protobuf:"varint,3,opt,name=revision"`
	// waitingFor is what the rollout waits for.
	// +optional
	WaitingFor RolloutWait `json:"waitingFor,omitempty" protobuf:"bytes,4,opt,name=waitingFor,casttype=RolloutWait"`
	// counts are how many clusters are in each state.
	// +optional
	Counts RolloutCounts `json:"counts,omitempty,omitzero" protobuf:"bytes,5,opt,name=counts"`
	// repeated says that the idempotency key was known, and that nothing was changed.
	// +optional
	Repeated bool `json:"repeated,omitempty" protobuf:"varint,6,opt,name=repeated"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +k8s:isSubresource="/feedback"

// RolloutFeedback is what became of one cluster, posted to the subresource feedback of a Rollout by a consumer of its decision. The answer
// has a status. A revision that is not the current one, and a cluster that is not through, are refused with 409.
type RolloutFeedback struct {
	metav1.TypeMeta `json:",inline"`
	// metadata may be left out. A name or namespace in it must be that of the Rollout. A uid in it is a precondition: 409 where it is not
	// that of the Rollout. A resourceVersion is refused: what counts is spec.revision.
	// +optional
	Metadata metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is what the consumer says.
	Spec RolloutFeedbackSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`

	// status is the answer: it is ignored in a request.
	// +optional
	Status RolloutActionStatus `json:"status,omitempty,omitzero" protobuf:"bytes,3,opt,name=status"`
}

// RolloutFeedbackSpec is what became of one cluster.
type RolloutFeedbackSpec struct {
	// cluster that it is about.
	Cluster ClusterReference `json:"cluster" protobuf:"bytes,1,opt,name=cluster"`

	// revision of the decision that was acted upon, as the slices carry it.
	// +required
	// +k8s:required
	// +k8s:minimum=1
	// +k8s:validation:minimum=1
	Revision int64 `json:"revision" protobuf:"varint,2,opt,name=revision"`

	// outcome is Succeeded or Failed. A later one for the same cluster replaces it.
	// +required
	// +k8s:required
	Outcome RolloutOutcome `json:"outcome" protobuf:"bytes,3,opt,name=outcome,casttype=RolloutOutcome"`

	// reason is why, in one word of CamelCase, at most 64 characters.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=64
	// +k8s:validation:maxLength=64
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +k8s:isSubresource="/preview"

// RolloutPreview is what a step would do, from the subresource preview of a Rollout. Nothing is changed by it.
type RolloutPreview struct {
	metav1.TypeMeta `json:",inline"`
	// metadata has the name and namespace of the Rollout.
	// +optional
	Metadata metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// status is what the step would do.
	// +optional
	Status RolloutPreviewStatus `json:"status,omitempty,omitzero" protobuf:"bytes,2,opt,name=status"`
}

// RolloutPreviewStatus is what a step would do now, if all before it were taken now.
type RolloutPreviewStatus struct {
	// step that would be taken, by its name; steps between that would add nobody are passed over.
	// +optional
	Step string `json:"step,omitempty" protobuf:"bytes,1,opt,name=step"`
	// fromStep is the current step, by its name.
	// +optional
	FromStep string `json:"fromStep,omitempty" protobuf:"bytes,2,opt,name=fromStep"`
	// fromRevision is the current revision.
	// +optional
	FromRevision int64 `json:"fromRevision,omitempty" protobuf:"varint,3,opt,name=fromRevision"`
	// targets are how many clusters percentages are of.
	// +optional
	Targets int32 `json:"targets,omitempty" protobuf:"varint,4,opt,name=targets"`
	// planned is how many targets would be through.
	// +optional
	Planned int32 `json:"planned,omitempty" protobuf:"varint,5,opt,name=planned"`
	// added are the clusters that would be let in.
	// +listType=atomic
	// +optional
	// +k8s:optional
	Added []ClusterReference `json:"added,omitempty" protobuf:"bytes,6,rep,name=added"`
	// removed are the clusters that would be taken out, which means that consumers remove there what they brought.
	// +listType=atomic
	// +optional
	// +k8s:optional
	Removed []ClusterReference `json:"removed,omitempty" protobuf:"bytes,7,rep,name=removed"`
	// held are the clusters that the step would pass over since they do not report.
	// +listType=atomic
	// +optional
	// +k8s:optional
	Held []ClusterReference `json:"held,omitempty" protobuf:"bytes,8,rep,name=held"`
	// skipped are the clusters that are targets no more.
	// +listType=atomic
	// +optional
	// +k8s:optional
	Skipped []ClusterReference `json:"skipped,omitempty" protobuf:"bytes,9,rep,name=skipped"`
	// leftOut are the clusters that joined and wait for the next run.
	// +listType=atomic
	// +optional
	// +k8s:optional
	LeftOut []ClusterReference `json:"leftOut,omitempty" protobuf:"bytes,10,rep,name=leftOut"`
	// emptySteps are those passed over, by their names.
	// +listType=atomic
	// +optional
	EmptySteps []string `json:"emptySteps,omitempty" protobuf:"bytes,11,rep,name=emptySteps"`
	// blockers are what stands before the step now, for people.
	// +listType=atomic
	// +optional
	Blockers []string `json:"blockers,omitempty" protobuf:"bytes,12,rep,name=blockers"`
}
