package app

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/binnacle-dev/binnacle/pkg/embeddedetcd"
)

func (o *Options) snapshotCommand() *cobra.Command {
	var timeout time.Duration
	var file string
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "Write a snapshot of the embedded etcd of a running server to the standard output, or to a file",
		Long: `Writes a snapshot of the embedded etcd of a server that runs on this machine or in this pod to the standard output, while it serves.
With --output it writes to a file, which is there only when it is complete. binnacle-apiserver restore makes a data directory of it.
Run it as the user that the server runs as.`,
		Args:          usage(cobra.NoArgs),
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			if file != "" {
				return failure(embeddedetcd.SnapshotTo(ctx, o.etcdDir(), file))
			}
			if isTerminal(cmd.OutOrStdout()) {
				return ExitError{errors.New("a snapshot is no text: name a file with --output, or send it to one with >"), 2}
			}
			return failure(embeddedetcd.Snapshot(ctx, o.etcdDir(), cmd.OutOrStdout()))
		},
	}
	cmd.Flags().StringVar(&o.DataDir, "data-dir", o.DataDir, "The server's --data-dir.")
	cmd.Flags().DurationVar(&timeout, "timeout", 10*time.Minute, "How long it may take.")
	cmd.Flags().StringVarP(&file, "output", "o", "", "File to write to, in place of the standard output.")
	ownUsage(cmd)
	return cmd
}
