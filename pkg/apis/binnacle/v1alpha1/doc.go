// +k8s:deepcopy-gen=package
// +k8s:defaulter-gen=TypeMeta
// +k8s:conversion-gen=github.com/binnacle-dev/binnacle/pkg/apis/binnacle
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=dev.binnacle.v1alpha1
// +k8s:protobuf-gen=package
// +k8s:validation-gen=TypesWithField=TypeMeta
// +groupName=binnacle.dev

// Package v1alpha1 is version v1alpha1 of Binnacle's own kinds.
//
// It may import apimachinery, k8s.io/api/core/v1 and pkg/apis/binnacle only.
package v1alpha1
