// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// StartStandalone starts a server that needs no hub and returns when it is ready. Its administrator is its only user.
func StartStandalone(ctx context.Context, o ServerOptions) (*Server, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	s, err := newServer(o, "--standalone")
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(o.DataDir, "kubeconfig")
	s.admin = func() (*rest.Config, error) {
		config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			return nil, err
		}
		config.QPS = -1
		return config, nil
	}
	if err := s.Start(ctx); err != nil {
		return nil, discard(s.Process, err)
	}
	return s, nil
}
