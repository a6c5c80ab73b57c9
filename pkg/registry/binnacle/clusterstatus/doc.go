// Package clusterstatus serves clusterstatuses, which are computed and only read, and clusterstatuses/report, through which clusters
// report.
//
// It may import apimachinery, apiserver, pkg/clusterstatus, pkg/report and pkg/apis only.
package clusterstatus
