// Package agent reports what a cluster says of itself to the hub: how many nodes it has and what they have left, its version, its
// properties, and whether its API server answers.
//
// What arrives from the member's API server is cut down at once to the few numbers that a report needs (digest.go, requests.go), which an
// inventory keeps as running sums for each node; summarize makes the facts of a report of them. A prober asks the API server for its
// health. A reporter puts both into a report, posts it, and waits for as long as the hub asked it to (pace.go), longer after each failure.
//
// It may import pkg/apis, pkg/generated and pkg/version only.
package agent
