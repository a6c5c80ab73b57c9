// +k8s:deepcopy-gen=package
// +k8s:defaulter-gen=TypeMeta
// +k8s:conversion-gen=github.com/binnacle-dev/binnacle/pkg/apis/multicluster
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=io.x-k8s.multicluster.v1alpha2
// +k8s:protobuf-gen=package
// +k8s:validation-gen=TypesWithField=TypeMeta
// +groupName=multicluster.x-k8s.io

// Package v1alpha2 is version v1alpha2 of the SIG-Multicluster kinds: v1alpha1 without what it deprecates, and with stricter
// rules.
//
// A required field is a pointer where leaving it out and leaving it empty are two answers, as they are for a custom resource of
// upstream's schema; everything else has the shape of the upstream Go types.
//
// It may import apimachinery and pkg/apis/multicluster only.
package v1alpha2
