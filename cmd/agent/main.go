// Command binnacle-agent reports what a member cluster says of itself to the hub.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/component-base/cli"
	"k8s.io/klog/v2"

	"github.com/binnacle-dev/binnacle/cmd/agent/app"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the process whatever it does.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx))
}

// run does what cli.Run does, and tells what is wrong with a command line without the form of a log.
func run(ctx context.Context) int {
	cmd := app.NewCommand(ctx)
	err := cli.RunNoErrOutput(cmd)
	switch {
	case err == nil:
		return 0
	case app.IsUsage(err):
		fmt.Fprintf(os.Stderr, "Error: %v\n", err)
		return 2
	}
	klog.ErrorS(err, "command failed")
	return 1
}
