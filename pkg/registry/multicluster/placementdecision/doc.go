// Package placementdecision is the registry of PlacementDecisions: the rules (strategy.go), the
// storage (storage.go) and the columns (table.go).
//
// It may import apimachinery, apiserver, pkg/apis and the shared packages of pkg/registry only.
package placementdecision
