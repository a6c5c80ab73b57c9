// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// binary is what make build builds, which is enough to see what becomes of it.
const binary = "../../bin/binnacle-apiserver"

func testBuild(t *testing.T, out string) build {
	t.Helper()
	if _, err := os.Stat(binary); err != nil {
		t.Skipf("make build, then run this again: %v", err)
	}
	b := build{component: "apiserver", out: out, release: "v0.1.0", commit: "0123456789ab", created: time.Unix(1_780_000_000, 0).UTC()}
	if err := b.write(map[string]string{runtime.GOARCH: binary}); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestAgentImage wants the agent's image to be the agent's.
func TestAgentImage(t *testing.T) {
	out := t.TempDir()
	b := build{component: "agent", out: out, release: "v0.1.0"}
	content := filepath.Join(out, "content")
	if err := os.WriteFile(content, []byte("binary"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.write(map[string]string{"amd64": content}); err != nil {
		t.Fatal(err)
	}
	image, err := tarball.ImageFromPath(filepath.Join(out, "binnacle-agent-v0.1.0-linux-amd64.tar"), nil)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if entry := config.Config.Entrypoint; len(entry) != 1 || entry[0] != "/binnacle-agent" {
		t.Errorf("it starts %v", entry)
	}
}

// TestImage reads an image back and runs what is in it.
func TestImage(t *testing.T) {
	out := t.TempDir()
	testBuild(t, out)
	image, err := tarball.ImageFromPath(filepath.Join(out, "binnacle-apiserver-v0.1.0-linux-"+runtime.GOARCH+".tar"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(image); err != nil {
		t.Error(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if c := config.Config; c.User != user || len(c.Entrypoint) != 1 || c.Entrypoint[0] != "/binnacle-apiserver" || len(c.Cmd) > 0 ||
		c.Labels["org.opencontainers.image.version"] != "v0.1.0" || c.Labels["org.opencontainers.image.revision"] != "0123456789ab" {
		t.Errorf("configuration %+v", c)
	}
	if config.OS != "linux" || config.Architecture != runtime.GOARCH {
		t.Errorf("for %s/%s", config.OS, config.Architecture)
	}
	root := extract(t, image)
	cmd := exec.Command(filepath.Join(root, config.Config.Entrypoint[0]), "--version")
	// Nothing of this machine: the image has nothing either.
	cmd.Env, cmd.Dir = []string{}, root
	said, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(said), "Binnacle v0.1.0 (commit ") {
		t.Errorf("--version: %v\n%s", err, said)
	}
	index, err := layout.ImageIndexFromPath(filepath.Join(out, "oci"))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
}

// extract writes the files of an image into a folder. There is one, and it is static: the kernel needs no loader for it.
func extract(t *testing.T, image v1.Image) string {
	t.Helper()
	root, files := t.TempDir(), 0
	reader := mutate.Extract(image)
	defer reader.Close()
	archive := tar.NewReader(reader)
	for {
		header, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		files++
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if header.Mode != 0o755 || header.Uid != 0 {
			t.Errorf("%s has mode %o and owner %d", header.Name, header.Mode, header.Uid)
		}
		if bytes.Contains(content, []byte("/lib64/ld-linux")) {
			t.Errorf("%s needs a loader", header.Name)
		}
		if err := os.WriteFile(filepath.Join(root, header.Name), content, fs.FileMode(header.Mode)); err != nil {
			t.Fatal(err)
		}
	}
	if files != 1 {
		t.Errorf("%d files", files)
	}
	return root
}

// TestReproducible writes twice and compares every byte.
func TestReproducible(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	testBuild(t, first)
	testBuild(t, second)
	files := 0
	err := filepath.WalkDir(first, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		relative, err := filepath.Rel(first, path)
		if err != nil {
			return err
		}
		if sum(t, path) != sum(t, filepath.Join(second, relative)) {
			t.Errorf("%s differs", relative)
		}
		return nil
	})
	if err != nil || files < 5 {
		t.Errorf("%d files, %v", files, err)
	}
}

func sum(t *testing.T, path string) [sha256.Size]byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(content)
}
