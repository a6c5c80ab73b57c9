// Package clusterstatus keeps the view of all clusters up to date: one watch over everything of ours in etcd feeds the profiles, the
// decisions and the pages of reports into the derive function, and what comes out goes into the event log that readers are served from.
//
// It may import apimachinery, apiserver, etcd's client, pkg/report and pkg/apis only.
package clusterstatus
