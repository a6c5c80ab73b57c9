// Package derive computes a ClusterStatus from what is in etcd: the ClusterProfile, the facts that the cluster reported, when it was
// seen, and the decisions that name it. It is a pure function: no storage, no network, no clock, and nothing of one replica, so that
// every replica shows the same at the same revision.
//
// Whoever changes what it returns for the same input increases Version: replicas that would show different contents under one
// resourceVersion must know it.
//
// It may import apimachinery, pkg/apis and pkg/report/pages only.
package derive
