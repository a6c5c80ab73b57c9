// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// ToolsDirEnv names the environment variable that holds the folder of the hub's binaries. Unset, hack/tools/build.sh is asked.
const ToolsDirEnv = "BINNACLE_TOOLS_DIR"

const moduleLine = "module github.com/binnacle-dev/binnacle\n"

// Tools returns the folder that holds etcd, kube-apiserver, kube-controller-manager and kubectl. Where it does not exist yet, they are
// built, which takes minutes.
func Tools(ctx context.Context) (string, error) {
	if dir := os.Getenv(ToolsDirEnv); dir != "" {
		return dir, nil
	}
	root, err := ModuleRoot()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(root, "hack", "tools", "build.sh"))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("build the hub's binaries: %w", err)
	}
	return string(bytes.TrimSpace(out)), nil
}

// ModuleRoot returns the checkout, which is the nearest folder above the current one that holds the project's go.mod.
func ModuleRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(data, []byte(moduleLine)) {
			return dir, nil
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not inside a checkout of Binnacle", start)
		}
	}
}

func binDirOrTools(ctx context.Context, binDir string) (string, error) {
	if binDir != "" {
		return binDir, nil
	}
	return Tools(ctx)
}
