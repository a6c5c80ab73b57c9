// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

// Command samples loads a folder of manifests, status included, into a server: one on a hub, or a standalone one.
//
//	go run ./hack/samples -kubeconfig DIR/kubeconfig
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/binnacle-dev/binnacle/test/framework"
)

func main() {
	kubeconfig := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "kubeconfig of the server")
	dir := flag.String("samples", "", "folder of manifests (default: artifacts/samples of the checkout)")
	flag.Parse()
	if err := load(context.Background(), *kubeconfig, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "samples:", err)
		os.Exit(1)
	}
}

func load(ctx context.Context, kubeconfig, dir string) error {
	if dir == "" {
		root, err := framework.ModuleRoot()
		if err != nil {
			return err
		}
		dir = filepath.Join(root, "artifacts", "samples")
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	config.WarningHandler = rest.NewWarningWriter(os.Stderr, rest.WarningWriterOptions{Deduplicate: true})
	count, err := framework.LoadSamples(ctx, config, dir)
	if err != nil {
		return err
	}
	fmt.Printf("%d objects loaded\n", count)
	return nil
}
