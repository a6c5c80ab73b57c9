package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +k8s:conversion-gen:explicit-from=net/url.Values
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// RolloutPreviewOptions are the query parameters of the subresource preview of a Rollout.
type RolloutPreviewOptions struct {
	metav1.TypeMeta `json:",inline"`

	// step is the name of the step to look at: the next one where it is left out.
	// +optional
	Step string `json:"step,omitempty" protobuf:"bytes,1,opt,name=step"`
}
