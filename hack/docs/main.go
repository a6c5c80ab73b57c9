// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

// Command docs writes the documentation that is made from the code: docs/reference/flags.md, docs/reference/agent-flags.md and
// docs/reference/plugin-flags.md.
//
//	go run ./hack/docs          writes it
//	go run ./hack/docs -check   fails where it is not what would be written
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	basecompatibility "k8s.io/component-base/compatibility"

	agent "github.com/binnacle-dev/binnacle/cmd/agent/app"
	"github.com/binnacle-dev/binnacle/cmd/apiserver/app"
	"github.com/binnacle-dev/binnacle/pkg/kubectl"
	"github.com/binnacle-dev/binnacle/test/framework"
)

func main() {
	check := flag.Bool("check", false, "write nothing, and fail where something would be written")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	root, err := framework.ModuleRoot()
	if err != nil {
		return err
	}
	options, err := app.NewOptions(basecompatibility.NewComponentGlobalsRegistry())
	if err != nil {
		return err
	}
	for name, want := range map[string][]byte{
		"flags.md":        flagReference(flagsIntro, options.Flags()),
		"agent-flags.md":  flagReference(agentFlagsIntro, agent.NewOptions().Flags()),
		"plugin-flags.md": flagReference(pluginFlagsIntro, kubectl.Flags()),
	} {
		if err := page(filepath.Join(root, "docs", "reference", name), want, check); err != nil {
			return err
		}
	}
	return nil
}

// page writes a page, or says how it differs.
func page(path string, want []byte, check bool) error {
	if !check {
		return os.WriteFile(path, want, 0o644)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%s is not up to date (%s): run go run ./hack/docs", path, firstDifference(got, want))
	}
	return nil
}

func firstDifference(got, want []byte) string {
	gotLines, wantLines := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range min(len(gotLines), len(wantLines)) {
		if !bytes.Equal(gotLines[i], wantLines[i]) {
			return fmt.Sprintf("line %d is %q, and should be %q", i+1, gotLines[i], wantLines[i])
		}
	}
	return fmt.Sprintf("%d lines, and should be %d", len(gotLines), len(wantLines))
}
