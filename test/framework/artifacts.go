// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

func (h *Hub) applyBase(ctx context.Context) error {
	root, err := ModuleRoot()
	if err != nil {
		return err
	}
	return h.applyDir(ctx, filepath.Join(root, "artifacts", "base"))
}

// applyRegistration fills in a copy of the overlay as artifacts/README.md tells people to.
func (h *Hub) applyRegistration(ctx context.Context, port int) error {
	root, err := ModuleRoot()
	if err != nil {
		return err
	}
	artifacts := filepath.Join(h.opts.Dir, "artifacts")
	if err := os.RemoveAll(artifacts); err != nil {
		return err
	}
	for _, dir := range []string{"base", "registration", "overlays"} {
		if err := os.CopyFS(filepath.Join(artifacts, dir), os.DirFS(filepath.Join(root, "artifacts", dir))); err != nil {
			return err
		}
	}
	overlay := filepath.Join(artifacts, "overlays", "local-hub")
	if err := errors.Join(
		writeFile(filepath.Join(overlay, "ca.crt"), h.ServingCA.PEM(), 0o644),
		writeFile(filepath.Join(overlay, "server.env"), fmt.Appendf(nil, "PORT=%d\n", port), 0o644),
	); err != nil {
		return err
	}
	return h.applyDir(ctx, overlay)
}

func (h *Hub) applyDir(ctx context.Context, dir string) error {
	_, _, err := h.Kubectl(ctx, "apply", "--server-side", "--force-conflicts", "--field-manager=binnacle-install", "-k", dir)
	return err
}
