// Command binnacle-apiserver is the API server of a multi-cluster hub.
package main

import (
	"fmt"
	"os"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/cli"

	"github.com/binnacle-dev/binnacle/cmd/apiserver/app"
)

func main() {
	cmd, err := app.NewCommand(genericapiserver.SetupSignalContext())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(cli.Run(cmd))
}
