// +k8s:validation-gen=TypesWithField=TypeMeta
// +k8s:validation-gen-input=k8s.io/apimachinery/pkg/apis/meta/v1
// +k8s:validation-gen-scheme-registry=nil

// Package metavalidation is where validation-gen writes the rules of the meta/v1 types that our types embed. The generator has to
// write them into a package of ours, since it cannot write into apimachinery. Nothing else belongs here, and only generated code
// imports it.
package metavalidation
