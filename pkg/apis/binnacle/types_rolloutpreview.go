package binnacle

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// RolloutPreviewOptions are the query parameters of the subresource preview of a Rollout.
type RolloutPreviewOptions struct {
	metav1.TypeMeta

	// step is the name of the step to look at: the next one where it is left out.
	Step string
}
