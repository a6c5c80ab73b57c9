// Package validation holds the rules of the SIG-Multicluster kinds that no declarative tag can say, as functions of values. What a
// tag can say stands beside the field, in the types of each served version.
//
// It may import apimachinery and kube-openapi's format checks only.
package validation
