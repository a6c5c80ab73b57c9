// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

// Package framework starts a real hub on loopback and Binnacle on it: etcd, kube-apiserver, kube-controller-manager and
// binnacle-apiserver as processes of their own, with the identities, certificates and rights that they have in production. Nobody
// but the hub's administrator is in system:masters, so a missing right shows.
//
// A test of a server on a hub:
//
//	hub, err := framework.StartHub(ctx, framework.HubOptions{Dir: t.TempDir()})
//	defer hub.Stop()
//	server, err := hub.StartBinnacle(ctx, framework.ServerOptions{})
//	client := kubernetes.NewForConfigOrDie(hub.ConfigFor("alice", "developers"))
//
// Without a hub, StartStandalone starts one server that asks nobody. LoadSamples writes the manifests of artifacts/samples to either.
//
// Everything waits for a state, never for a time; an error that a process caused carries the end of that process's log. It imports
// client-go and kube-aggregator, and nothing from pkg: what it starts is the binary that is shipped.
package framework
