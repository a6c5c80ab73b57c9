// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

// Command hub keeps a hub with Binnacle on it running on this machine: etcd, kube-apiserver, kube-controller-manager and
// binnacle-apiserver, without containers.
//
//	go run ./hack/hub up       starts it, loads artifacts/samples and says how to use it
//	go run ./hack/hub status   says what runs
//	go run ./hack/hub down     stops it; with -wipe it also forgets its data
//
// Everything it keeps is in one folder, .hub of the checkout.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/binnacle-dev/binnacle/test/framework"
)

const usage = "usage: hub up|down|status [flags]; hub up -h lists the flags"

type options struct {
	root, dir, binDir, binary, samples string
	hubPort, serverPort                int
	wipe                               bool
}

func main() {
	// A signal during the start ends it, and what was started by then.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "hub:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no command given; %s", usage)
	}
	root, err := framework.ModuleRoot()
	if err != nil {
		return err
	}
	o := options{root: root}
	flags := flag.NewFlagSet("hub "+args[0], flag.ExitOnError)
	flags.StringVar(&o.dir, "dir", filepath.Join(root, ".hub"), "folder that holds its keys, data and logs")
	var command func(context.Context, options) error
	switch args[0] {
	case "up":
		command = up
		flags.StringVar(&o.binDir, "bin-dir", "", "folder of etcd, kube-apiserver, kube-controller-manager and kubectl (default: hack/tools/build.sh makes it)")
		flags.StringVar(&o.binary, "binary", filepath.Join(root, "bin", "binnacle-apiserver"), "the server to run on the hub")
		flags.StringVar(&o.samples, "samples", filepath.Join(root, "artifacts", "samples"), "folder of manifests to load; empty for none")
		flags.IntVar(&o.hubPort, "port", 26443, "port of kube-apiserver; 0 for a free one")
		flags.IntVar(&o.serverPort, "server-port", 27443, "port of binnacle-apiserver; 0 for a free one")
	case "down":
		command = down
		flags.BoolVar(&o.wipe, "wipe", false, "remove the folder too")
	case "status":
		command = status
	default:
		return fmt.Errorf("unknown command %q; %s", args[0], usage)
	}
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected %q; %s", flags.Arg(0), usage)
	}
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return err
	}
	return command(ctx, o)
}

func (o options) kubeconfig() string { return filepath.Join(o.dir, "kubeconfig") }
