// Package quota is the admission plugin that holds creates to the object counts of the hub's ResourceQuotas, such as
// count/clusterprofiles.multicluster.x-k8s.io. It is the library's plugin, with answers for the case that the hub does not answer.
//
// It may import k8s.io/apiserver and k8s.io/client-go, and nothing of the project.
package quota
