// +k8s:deepcopy-gen=package
// +groupName=multicluster.x-k8s.io

// Package multicluster is the internal version of the SIG-Multicluster kinds: what the served versions convert to and from, and what
// the registry and admission work on. It holds the superset of the served versions, so that nothing that a client of one version
// stored is lost by a client of the other.
//
// It may import apimachinery only.
package multicluster
