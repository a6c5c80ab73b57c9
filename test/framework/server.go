// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"

	"k8s.io/client-go/rest"
)

const (
	// Namespace is where the server lives on a hub.
	Namespace = "binnacle-system"
	// ServiceAccount is the server's identity on a hub, and Service the name under which the hub reaches it.
	ServiceAccount, Service = "binnacle-apiserver", "binnacle-apiserver"
)

// ServerOptions says how to start a binnacle-apiserver.
type ServerOptions struct {
	// Name tells it from other servers in the same state folder. Default: binnacle-apiserver.
	Name string
	// Dir is the state folder. On a hub the hub's is used.
	Dir string
	// Binary is the server to run. Default: bin/binnacle-apiserver of the checkout.
	Binary string
	// DataDir holds the server's own data. Default: a folder with its name in the state folder.
	DataDir string
	// Port is where it listens. Default: a free one, kept over restarts.
	Port int
	// Etcd holds its data outside of the process, which several replicas need. Default: etcd inside the process.
	Etcd *Etcd
	// Flags are added to the framework's and win over them.
	Flags []string
	// Detached lets it run on when this program ends. On a hub, it is what the hub is.
	Detached bool
}

// Server is a binnacle-apiserver.
type Server struct {
	// Process is the one that was started last.
	*Process
	// Port is where it listens.
	Port int

	admin func() (*rest.Config, error)
	user  func(user string, groups []string) *rest.Config
}

// URL is where the server itself listens, past the hub.
func (s *Server) URL() string { return "https://" + loopback(s.Port) }

// AdminConfig is a client configuration for an administrator who talks to the server itself, past the hub.
func (s *Server) AdminConfig() (*rest.Config, error) { return s.admin() }

// ConfigFor is a client configuration for a user of the hub who talks to the server itself, past the hub. A standalone server knows
// nobody but its administrator; ConfigFor is nil there.
func (s *Server) ConfigFor(user string, groups ...string) *rest.Config {
	if s.user == nil {
		return nil
	}
	return s.user(user, groups)
}

// Start starts a server again that was stopped or killed, with the same flags, port and data, and waits until it is ready.
func (s *Server) Start(ctx context.Context) error {
	p, err := s.command.start()
	if err != nil {
		return err
	}
	s.Process = p
	return s.Ready(ctx)
}

// Ready waits until the server's /readyz says ok.
func (s *Server) Ready(ctx context.Context) error {
	ctx, cancel := withTimeout(ctx, s.name)
	defer cancel()
	return until(ctx, s.Process, "/readyz", func(ctx context.Context) error {
		config, err := s.admin()
		if err != nil {
			return err
		}
		return healthy(ctx, config, "/readyz")
	})
}

// newServer fills in what was left out, and does not start anything yet.
func newServer(o ServerOptions, flags ...string) (*Server, error) {
	var err error
	if o.Binary == "" {
		root, err := ModuleRoot()
		if err != nil {
			return nil, err
		}
		o.Binary = filepath.Join(root, "bin", "binnacle-apiserver")
	}
	if o.Port, err = portOrFree(o.Port, o.Name); err != nil {
		return nil, err
	}
	flags = append(flags, "--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(o.Port), "--data-dir="+o.DataDir)
	if o.Etcd != nil {
		flags = append(flags, o.Etcd.Flags()...)
	}
	c := command{name: o.Name, path: o.Binary, args: slices.Concat(flags, o.Flags), dir: o.Dir, detached: o.Detached}
	return &Server{Process: &Process{command: c}, Port: o.Port}, nil
}

func (o *ServerOptions) complete() (err error) {
	if o.Dir == "" {
		return errors.New("no state folder given for the server")
	}
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return err
	}
	if o.Name == "" {
		o.Name = "binnacle-apiserver"
	}
	if o.DataDir == "" {
		o.DataDir = filepath.Join(o.Dir, o.Name)
	}
	return nil
}
