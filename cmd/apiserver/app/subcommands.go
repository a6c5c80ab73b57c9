package app

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/term"
)

// ExitError ends the process with a code of its own: 2 for a command line that is wrong or a check that could not be made, 1 for the rest.
type ExitError struct {
	error
	Code int
}

// Unwrap returns why.
func (e ExitError) Unwrap() error { return e.error }

// failure ends a subcommand that could not do its work.
func failure(err error) error {
	if err == nil {
		return nil
	}
	return ExitError{err, 1}
}

// isTerminal says whether a standard stream is a terminal, and no file or pipe.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	if !ok {
		return false
	}
	_, _, err := term.TerminalSize(file)
	return err == nil
}

// usage makes what is wrong with the arguments of a subcommand what it is with its flags.
func usage(args cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		if err := args(cmd, given); err != nil {
			return ExitError{err, 2}
		}
		return nil
	}
}

// ownUsage gives a subcommand a help and an exit code of its own. The server's help, which it would inherit, has the server's flags.
func ownUsage(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return ExitError{err, 2} })
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n\nUsage:\n  %s\n\nFlags:\n%s", cmd.Long, cmd.UseLine(), cmd.LocalNonPersistentFlags().FlagUsages())
	})
}
