// Package hubcheck looks at a hub before our APIServices are registered there and says what would stand in the way, or be hidden by
// them. It reads, and asks the hub for rights; it never changes anything.
//
// It may import apimachinery, client-go, the clients of apiextensions and kube-aggregator, and pkg/apiserver for what we serve and need.
package hubcheck
