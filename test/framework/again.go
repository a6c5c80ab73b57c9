// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"syscall"
)

// StartAPIServer starts kube-apiserver again after it was stopped or killed, on the same port and data, and waits until it is ready.
func (h *Hub) StartAPIServer(ctx context.Context) error { return h.startAPIServer(ctx) }

// StartControllerManager starts kube-controller-manager again after it was stopped or killed, and waits until it is healthy.
func (h *Hub) StartControllerManager(ctx context.Context) error { return h.startControllerManager(ctx) }

// Pause makes the process fall silent, as behind a network that drops everything: connections stay and new ones come about, and nobody is
// answered. It returns when all of the process is silent. Resume ends it; a process must not be stopped before.
func (p *Process) Pause() error {
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	return until(ctx, nil, p.name+" to fall silent", func(context.Context) error { return paused(p.PID()) })
}

// Resume lets a process go on after Pause.
func (p *Process) Resume() error { return p.cmd.Process.Signal(syscall.SIGCONT) }
