// Command binnacle-apiserver is the API server of a multi-cluster hub.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/cli"
	"k8s.io/klog/v2"

	"github.com/binnacle-dev/binnacle/cmd/apiserver/app"
)

// garbagePercent is by how much memory may grow before the garbage is collected, unless GOGC says otherwise. A server of many small
// requests, most of whose memory is caches, spends a good part of its time on collecting with Go's default of 100.
const garbagePercent = 200

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
	}
	cmd, err := app.NewCommand(genericapiserver.SetupSignalContext())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(run(cmd))
}

// run does what cli.Run does, and has regard for the exit codes of subcommands.
func run(cmd *cobra.Command) int {
	started := false
	cmd.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	err := cli.RunNoErrOutput(cmd)
	var exit app.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		fmt.Fprintf(os.Stderr, "Error: %v\n", err)
		return exit.Code
	case !started: // What is wrong is the command line, which no log has to tell.
		fmt.Fprintf(os.Stderr, "Error: %v\n", err)
	default:
		klog.ErrorS(err, "command failed")
	}
	return 1
}
