// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// HubOptions says how to start a hub.
type HubOptions struct {
	// Dir is the state folder: keys, data, logs and records of processes. Starting again in it continues with the same data. Required.
	Dir string
	// BinDir holds etcd, kube-apiserver, kube-controller-manager and kubectl. Default: what Tools returns.
	BinDir string
	// Port is kube-apiserver's. Default: a free one.
	Port int
	// APIServerFlags are added to kube-apiserver's and win over the framework's.
	APIServerFlags []string
	// WithoutUIDs makes the hub not tell its aggregated servers the UIDs of users, as older ones do.
	WithoutUIDs bool
	// Detached lets everything run on when this program ends. StopRecorded stops it.
	Detached bool
	// Log receives a line for each step. Default: nowhere.
	Log io.Writer
}

// Hub is a running hub: etcd, kube-apiserver with the aggregation layer, and kube-controller-manager.
type Hub struct {
	// Etcd holds the hub's own data. A server of ours may share it under its own prefix.
	Etcd *Etcd
	// APIServer and ControllerManager are the hub's processes.
	APIServer, ControllerManager *Process
	// ClientCA signs the hub's users, ServingCA what serves (the hub and our server), FrontProxyCA the aggregation layer's identity.
	ClientCA, ServingCA, FrontProxyCA *CA
	// Port is kube-apiserver's.
	Port int

	opts    HubOptions
	configs sync.Map

	mu      sync.Mutex
	cleanup []func() error
}

// StartHub starts a hub and returns when it is ready. What a failed start has started, it has also stopped.
func StartHub(ctx context.Context, o HubOptions) (_ *Hub, err error) {
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return nil, err
	}
	if o.BinDir, err = binDirOrTools(ctx, o.BinDir); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	h := &Hub{opts: o}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Stop())
		}
	}()
	if h.Port, err = portOrFree(o.Port, "kube-apiserver"); err != nil {
		return nil, err
	}
	for name, ca := range map[string]**CA{"client-ca": &h.ClientCA, "serving-ca": &h.ServingCA, "front-proxy-ca": &h.FrontProxyCA} {
		if *ca, err = NewCA(h.pkiDir(), name); err != nil {
			return nil, err
		}
	}
	for _, step := range []struct {
		name  string
		start func(context.Context) error
	}{
		{"etcd", h.startEtcd},
		{"kube-apiserver", h.startAPIServer},
		{"kube-controller-manager", h.startControllerManager},
	} {
		if err := h.step(step.name, func() error { return step.start(ctx) }); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// Dir returns the state folder.
func (h *Hub) Dir() string { return h.opts.Dir }

// BinDir returns the folder of the hub's binaries.
func (h *Hub) BinDir() string { return h.opts.BinDir }

// URL is where kube-apiserver listens.
func (h *Hub) URL() string { return "https://" + loopback(h.Port) }

// Stop ends everything that was started through the hub, the youngest first. It may be called again.
func (h *Hub) Stop() error {
	h.mu.Lock()
	cleanup := h.cleanup
	h.cleanup = nil
	h.mu.Unlock()
	var errs []error
	for _, stop := range slices.Backward(cleanup) {
		errs = append(errs, stop())
	}
	return errors.Join(errs...)
}

func (h *Hub) onStop(stop func() error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cleanup = append(h.cleanup, stop)
}

// step runs one part of a start and says how long it took.
func (h *Hub) step(name string, run func() error) error {
	start := time.Now()
	if err := run(); err != nil {
		return err
	}
	fmt.Fprintf(h.opts.Log, "%-40s %6.1fs\n", name, time.Since(start).Seconds())
	return nil
}

// spawn starts one of the hub's binaries, which Stop ends, and returns when path answers the administrator with 200.
func (h *Hub) spawn(ctx context.Context, name string, port int, path string, args []string) (*Process, error) {
	p, err := command{
		name: name, path: filepath.Join(h.opts.BinDir, name), args: args, dir: h.opts.Dir, detached: h.opts.Detached,
	}.start()
	if err != nil {
		return nil, err
	}
	h.onStop(p.Stop)
	ctx, cancel := withTimeout(ctx, name)
	defer cancel()
	config := rest.CopyConfig(h.AdminConfig())
	config.Host = "https://" + loopback(port)
	return p, until(ctx, p, path, func(ctx context.Context) error { return healthy(ctx, config, path) })
}

func (h *Hub) pkiDir() string { return filepath.Join(h.opts.Dir, "pki") }
