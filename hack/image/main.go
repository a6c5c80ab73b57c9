// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

// Command image builds the container image of the server or the agent, without a container runtime: the static binary and nothing else.
//
//	go run . -component apiserver -out DIR -release VERSION -commit COMMIT -created SECONDS -ldflags FLAGS
//
// It writes for each architecture DIR/binnacle-COMPONENT-VERSION-linux-ARCH.tar, which docker load and ctr images import read, and
// DIR/oci, one image for all of them, which crane push and skopeo copy read. The same sources and the same Go give the same bytes.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// build is what to build an image of.
type build struct {
	component                string
	source, out              string
	release, commit, ldflags string
	created                  time.Time
}

func main() {
	var b build
	var seconds int64
	var architectures string
	flag.StringVar(&b.component, "component", "apiserver", "what of cmd to build: apiserver or agent")
	flag.StringVar(&b.source, "source", "../..", "the checkout")
	flag.StringVar(&b.out, "out", "", "where images are written")
	flag.StringVar(&b.release, "release", "", "version of the image")
	flag.StringVar(&b.commit, "commit", "unknown", "commit that it is built from")
	flag.StringVar(&b.ldflags, "ldflags", "", "flags for the linker")
	flag.Int64Var(&seconds, "created", 0, "time of the image in seconds since 1970: that of the commit, so that building again changes nothing")
	flag.StringVar(&architectures, "arch", "amd64,arm64", "architectures, comma separated")
	flag.Parse()
	b.created = time.Unix(seconds, 0).UTC()
	if err := b.run(strings.Split(architectures, ",")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (b build) run(architectures []string) error {
	if b.out == "" || b.release == "" {
		return fmt.Errorf("-out and -release are required")
	}
	if err := os.MkdirAll(b.out, 0o755); err != nil {
		return err
	}
	binaries := map[string]string{}
	for _, arch := range architectures {
		binaries[arch] = filepath.Join(b.out, "bin", "linux-"+arch, b.name())
		if err := b.compile(arch, binaries[arch]); err != nil {
			return err
		}
	}
	return b.write(binaries)
}

// compile builds the binary. Neither the folder of the checkout nor the state of git gets into it.
func (b build) compile(arch, binary string) error {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", b.ldflags, "-o", binary, "./cmd/"+b.component)
	cmd.Dir = b.source
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build for %s: %w", arch, err)
	}
	return nil
}
