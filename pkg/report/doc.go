// Package report takes the reports of clusters: a replica keeps what arrived in memory, answers when to report next, and every few
// seconds publishes what is new in a few pages (pkg/report/pages), so that a heartbeat costs no write of its own.
//
// It may import apimachinery, etcd's client, component-base and pkg/apis only.
package report
