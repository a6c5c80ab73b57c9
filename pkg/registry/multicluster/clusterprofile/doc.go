// Package clusterprofile is the registry of ClusterProfiles: the rules of the main resource and of its status (strategy.go), the
// storage (storage.go) and the columns (table.go).
//
// It may import apimachinery, apiserver, pkg/apis and the shared packages of pkg/registry only.
package clusterprofile
