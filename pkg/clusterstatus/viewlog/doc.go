// Package viewlog holds a computed view of ClusterStatuses as a log of events, and serves it as a storage.Interface: get, list and watch
// as an API server answers them for a kind that lies in etcd, without a library cache in between.
//
// One writer feeds the Log, a revision of etcd at a time. The events of a revision get ascending resourceVersions, the same on every replica
// that derives the same view. A watcher is no more than a place in the one bounded ring of events: it is never given a buffer that grows,
// and when it is so slow that its place falls off the ring, it alone is ended. What goes to many watchers is encoded once.
//
// Objects are immutable from the moment that they are handed in. It may import the API types and k8s.io/apiserver's storage packages.
package viewlog
