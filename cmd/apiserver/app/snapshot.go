package app

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/component-base/term"

	"github.com/binnacle-dev/binnacle/pkg/embeddedetcd"
)

func (o *Options) snapshotCommand() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "Write a snapshot of the embedded etcd of a running server to the standard output",
		Long: `Writes a snapshot of the embedded etcd of a server that runs on this machine or in this pod to the standard output, while it serves.
etcdutl snapshot restore makes a data directory of it. Run it as the user that the server runs as.`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, _, err := term.TerminalSize(cmd.OutOrStdout()); err == nil {
				return ExitError{errors.New("a snapshot is no text: send it to a file with >"), 2}
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			if err := embeddedetcd.Snapshot(ctx, o.etcdDir(), cmd.OutOrStdout()); err != nil {
				return ExitError{err, 1}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&o.DataDir, "data-dir", o.DataDir, "The server's --data-dir.")
	cmd.Flags().DurationVar(&timeout, "timeout", 10*time.Minute, "How long it may take.")
	setOwnHelp(cmd)
	return cmd
}
