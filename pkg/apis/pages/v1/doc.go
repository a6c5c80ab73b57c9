// +k8s:protobuf-gen=package

// Package v1 is how reports are kept in etcd, format 1: many clusters in few values, so that a heartbeat costs no write of its own.
// Nothing of it is served. docs/concepts/cluster-status.md says how the pages work together; pkg/report reads and writes them.
//
// Below the prefix of the storage, under binnacle.dev/clusterstatuspages:
//
//	head                 one Head
//	facts/<sequence>     a FactsPage, with the sequence number of the publication that wrote it as 16 hexadecimal digits
//	seen/<number>        a SeenPage, for the slots from number × 16384, as 8 hexadecimal digits
//
// A value is the two bytes 'B' and 1, then the protobuf message; around it lie compression and encryption at rest as around any stored
// object. Times are milliseconds since 1970 by the clock of the view, which never runs backwards.
//
// A field is never reused for something else. A reader that finds another format, or a derivation newer than its own, does not serve.
//
// It may import apimachinery and pkg/apis/binnacle only.
package v1
