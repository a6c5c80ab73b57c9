package app

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/binnacle-dev/binnacle/pkg/embeddedetcd"
)

func (o *Options) restoreCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore [SNAPSHOT]",
		Short: "Make the data of the embedded etcd what a snapshot holds, while the server is stopped",
		Long: `Makes the data of the embedded etcd what a snapshot holds, which is a file or comes from the standard input. The server must be stopped. The
data that was there is kept beside it, in data.old- with the time. Clients that have seen what came after the snapshot are told to list anew.
Run it as the user that the server runs as.`,
		Args:          usage(cobra.MaximumNArgs(1)),
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			from := cmd.InOrStdin()
			if len(args) == 1 {
				file, err := os.Open(args[0])
				if err != nil {
					return failure(err)
				}
				defer file.Close()
				from = file
			} else if isTerminal(from) {
				return ExitError{errors.New("name the file of a snapshot, or send one with <"), 2}
			}
			return failure(o.restore(from, cmd.OutOrStdout()))
		},
	}
	cmd.Flags().StringVar(&o.DataDir, "data-dir", o.DataDir, "The server's --data-dir.")
	ownUsage(cmd)
	return cmd
}

func (o *Options) restore(from io.Reader, out io.Writer) error {
	old, err := embeddedetcd.Restore(o.etcdDir(), from, time.Now())
	if errors.Is(err, embeddedetcd.ErrLocked) {
		return fmt.Errorf("a binnacle-apiserver runs on the data directory %s: stop it first", o.DataDir)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "restored", o.etcdDir())
	if old != "" {
		fmt.Fprintln(out, "the data of before is in", old)
	}
	return nil
}
