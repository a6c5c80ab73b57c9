// +k8s:deepcopy-gen=package
// +groupName=binnacle.dev

// Package binnacle is the internal version of Binnacle's own kinds: what the served version converts to and from, and what the view
// and the registry work on.
//
// It may import apimachinery and k8s.io/api/core/v1 only.
package binnacle
