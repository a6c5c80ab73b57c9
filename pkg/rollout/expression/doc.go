// Package expression evaluates the CEL expression of a Rollout's selector: does it take this cluster?
//
// Two variables are there, as clients see them: profile, the ClusterProfile, and status, the ClusterStatus, both v1alpha1. Types come from
// the published schema, so that a wrong field is refused when the Rollout is written. What the view does not keep of a profile is not there:
// annotations, managed fields and providers. There is no clock: which clusters an expression takes follows from the objects alone.
//
// A field or a key that is not set is an error of that cluster, unless the expression asks with has(), in or .? first. It is not taken then,
// and is reported (Fleet.Failures), so that a typing error in a key is not mistaken for an empty fleet.
//
// It is pure: objects in, an answer out. It may import apimachinery, the CEL of apiserver, pkg/apis and pkg/generated/openapi only.
package expression
