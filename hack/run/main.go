// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

// Command run runs a standalone server with the sample fleet in the foreground, until Ctrl-C. It needs the server's binary and nothing
// else: no hub, no containers, no kubectl.
//
//	go run ./hack/run
//
// Everything it keeps is in one folder, _output/run of the checkout; a later run goes on with it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/binnacle-dev/binnacle/test/framework"
)

type options struct {
	root, dir, binary, samples string
	port                       int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	root, err := framework.ModuleRoot()
	if err != nil {
		return err
	}
	o := options{root: root}
	flag.StringVar(&o.dir, "dir", filepath.Join(root, "_output", "run"), "folder that holds its keys, data and logs")
	flag.StringVar(&o.binary, "binary", filepath.Join(root, "bin", "binnacle-apiserver"), "the server to run")
	flag.StringVar(&o.samples, "samples", filepath.Join(root, "artifacts", "samples"), "folder of manifests to load at the first start; empty for none")
	flag.IntVar(&o.port, "port", 7443, "port of the server; 0 for a free one")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected %q; -h lists the flags", flag.Arg(0))
	}
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return err
	}
	server, err := start(ctx, o)
	if ctx.Err() != nil {
		return nil // Ctrl-C while it started
	}
	if err != nil {
		return err
	}
	if err := loadOnce(ctx, o, server); err != nil {
		return errors.Join(err, server.Stop())
	}
	printHowTo(o, server)
	select {
	case <-ctx.Done():
		fmt.Println("\nStopping.")
	case <-server.Exited():
	}
	return server.Stop()
}

func start(ctx context.Context, o options) (*framework.Server, error) {
	if _, err := os.Stat(o.binary); err != nil {
		return nil, fmt.Errorf("the server is not built: make build, or go build -o %s ./cmd/apiserver", o.binary)
	}
	records, err := framework.Records(o.dir)
	if err != nil {
		return nil, err
	}
	for _, record := range records {
		if record.Running() {
			return nil, fmt.Errorf("it runs already, as process %d: end it with Ctrl-C where it was started, or use it", record.PID)
		}
	}
	began := time.Now()
	server, err := framework.StartStandalone(ctx, framework.ServerOptions{Dir: o.dir, DataDir: o.dir, Binary: o.binary, Port: o.port})
	if err != nil {
		return nil, err
	}
	fmt.Printf("Binnacle serves %s, ready after %.1fs.\n", server.URL(), time.Since(began).Seconds())
	return server, nil
}

// loadOnce loads the samples into a folder that has never had them, so that what somebody changes or deletes stays so.
func loadOnce(ctx context.Context, o options, server *framework.Server) error {
	loaded := filepath.Join(o.dir, "samples-loaded")
	if _, err := os.Stat(loaded); o.samples == "" || err == nil {
		return nil
	}
	config, err := server.AdminConfig()
	if err != nil {
		return err
	}
	began := time.Now()
	count, err := framework.LoadSamples(ctx, config, o.samples)
	if err != nil {
		return err
	}
	fmt.Printf("%d sample objects loaded in %.1fs.\n", count, time.Since(began).Seconds())
	return os.WriteFile(loaded, nil, 0o644)
}

func printHowTo(o options, server *framework.Server) {
	fmt.Printf("\nIn another terminal:\n\n  export KUBECONFIG=%s\n", filepath.Join(o.dir, "kubeconfig"))
	if _, err := exec.LookPath("kubectl"); err != nil {
		build := filepath.Join(o.root, "hack", "tools", "build.sh")
		fmt.Printf("  export PATH=$(%s kubectl):$PATH   # there is no kubectl here; this builds one, which takes minutes the first time\n", build)
	}
	fmt.Printf(`
  kubectl get clusterprofiles -A
  kubectl get cp -A -l accelerator=nvidia-h100 -o wide
  kubectl get cp -A --field-selector spec.clusterManager.name=edge-manager
  kubectl get placementdecisions -A
  kubectl explain clusterprofile.status.accessProviders

The log is %s. Ctrl-C stops the server; its data stays.
`, server.LogPath())
}
