// Command kubectl-binnacle is the kubectl plugin of Binnacle: kubectl binnacle.
package main

import (
	"context"
	"os"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/binnacle-dev/binnacle/pkg/kubectl"
)

func main() {
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	os.Exit(kubectl.Run(context.Background(), streams, os.Args[1:]))
}
