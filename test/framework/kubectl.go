// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Kubectl runs kubectl as one user. It keeps its caches beside the kubeconfig and reads no settings of the person who runs it.
type Kubectl struct {
	// Binary and Kubeconfig are the files to use.
	Binary, Kubeconfig string
	// Stdin is what kubectl reads from -f -.
	Stdin io.Reader
}

// Kubectl runs kubectl as the hub's administrator.
func (h *Hub) Kubectl(ctx context.Context, args ...string) (stdout, stderr string, err error) {
	kubectl, err := h.KubectlFor("admin", AdminGroup)
	if err != nil {
		return "", "", err
	}
	return kubectl.Run(ctx, args...)
}

// KubectlFor is kubectl as a user of the hub.
func (h *Hub) KubectlFor(user string, groups ...string) (Kubectl, error) {
	kubeconfig, err := h.Kubeconfig(user, groups...)
	return Kubectl{Binary: filepath.Join(h.opts.BinDir, "kubectl"), Kubeconfig: kubeconfig}, err
}

// Run runs kubectl once. An error carries what kubectl said.
func (k Kubectl) Run(ctx context.Context, args ...string) (stdout, stderr string, err error) {
	cmd := exec.CommandContext(ctx, k.Binary, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+k.Kubeconfig, "KUBECACHEDIR="+k.Kubeconfig+".cache", "KUBERC=off")
	var out, errOut bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = k.Stdin, &out, &errOut
	if err := cmd.Run(); err != nil {
		return out.String(), errOut.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(errOut.String()))
	}
	return out.String(), errOut.String(), nil
}
