// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"errors"
	"path/filepath"

	"k8s.io/client-go/rest"
)

// StartBinnacle puts a server of ours on the hub: it installs what the server needs there, starts it, makes the hub send our API groups to
// it, and returns when the hub answers for all of them.
func (h *Hub) StartBinnacle(ctx context.Context, o ServerOptions) (*Server, error) {
	if err := h.Install(ctx); err != nil {
		return nil, err
	}
	s, err := h.StartReplica(ctx, o)
	if err != nil {
		return nil, err
	}
	return s, h.Register(ctx, s.Port)
}

// StartReplica starts a server of ours on the hub and returns when it is ready. The hub does not send anything to it yet: Register does
// that, for the port of one server or of a Balancer before several. Stop of the hub stops it too.
func (h *Hub) StartReplica(ctx context.Context, o ServerOptions) (*Server, error) {
	o.Dir, o.Detached = h.opts.Dir, h.opts.Detached
	if err := o.complete(); err != nil {
		return nil, err
	}
	kubeconfig, err := h.serverKubeconfig(ctx)
	if err != nil {
		return nil, err
	}
	cert, key, err := h.ServingCA.IssueFiles(servingLeaf(), h.pkiDir(), o.Name)
	if err != nil {
		return nil, err
	}
	s, err := newServer(o,
		"--kubeconfig="+kubeconfig, "--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig,
		"--tls-cert-file="+cert, "--tls-private-key-file="+key)
	if err != nil {
		return nil, err
	}
	s.user = func(user string, groups []string) *rest.Config { return h.clientConfig(s.URL(), user, groups) }
	s.admin = func() (*rest.Config, error) { return s.ConfigFor("admin", AdminGroup), nil }
	if err := h.step(o.Name, func() error { return s.Start(ctx) }); err != nil {
		return nil, discard(s.Process, err)
	}
	h.onStop(func() error { return s.Stop() })
	return s, nil
}

// servingLeaf has the names under which a hub with a pod network reaches the server, and those of loopback.
func servingLeaf() Leaf {
	host := Service + "." + Namespace
	return Leaf{
		CommonName: host + ".svc",
		Hosts:      []string{Service, host, host + ".svc", host + ".svc.cluster.local", "localhost", "127.0.0.1", "::1"},
	}
}

// serverKubeconfig writes a kubeconfig with the server's own identity and nothing else. The token is in a file of its own, as it is in a
// pod, so that the server reads a new one without a restart.
func (h *Hub) serverKubeconfig(ctx context.Context) (string, error) {
	config, err := h.ServiceAccountConfig(ctx, Namespace, ServiceAccount)
	if err != nil {
		return "", err
	}
	config.BearerTokenFile = filepath.Join(h.opts.Dir, "kubeconfigs", "binnacle-apiserver.token")
	if err := writeFile(config.BearerTokenFile, []byte(config.BearerToken), 0o600); err != nil {
		return "", err
	}
	config.BearerToken = ""
	path := filepath.Join(h.opts.Dir, "kubeconfigs", "binnacle-apiserver")
	return path, WriteKubeconfig(path, config)
}

// discard ends a process whose start failed.
func discard(p *Process, err error) error {
	if p.cmd == nil {
		return err
	}
	return errors.Join(err, p.Kill())
}
