package kubectl

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"

	"github.com/binnacle-dev/binnacle/pkg/version"
)

// Run runs a command line, says on the error stream what went wrong, and returns the exit code.
func Run(ctx context.Context, streams genericiooptions.IOStreams, args []string) int {
	cmd := NewCommand(streams)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintln(streams.ErrOut, message(err))
	}
	return exitCode(err)
}

// NewCommand returns kubectl binnacle.
func NewCommand(streams genericiooptions.IOStreams) *cobra.Command {
	return newCommand(&factory{IOStreams: streams, flags: genericclioptions.NewConfigFlags(true), now: time.Now, terminal: widthOf})
}

func newCommand(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:           "kubectl-binnacle",
		Short:         "Moves rollouts and shows the fleet",
		Long:          "kubectl binnacle moves rollouts step by step and shows the fleet at a glance.",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl binnacle"},
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.SetIn(f.In)
	cmd.SetOut(f.Out)
	cmd.SetErr(f.ErrOut)
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usage(c, err) })
	f.flags.AddFlags(cmd.PersistentFlags())
	cmd.PersistentFlags().Lookup("cache-dir").DefValue = "$HOME/.kube/cache"
	logs := flag.NewFlagSet("logs", flag.ContinueOnError)
	klog.InitFlags(logs)
	cmd.PersistentFlags().AddGoFlag(logs.Lookup("v"))
	f.completeFlags(cmd)
	cmd.AddCommand(newRolloutCommand(f), newStatusCommand(f), newVersionCommand(f))
	return cmd
}

// newGroup is a command that only has others below it.
func newGroup(use, short, long string, below ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage(cmd, fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath()))
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(below...)
	return cmd
}

// exactly wants arguments that are named so.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return usage(cmd, fmt.Errorf("%s is required", names[len(args)]))
		}
		if len(args) > len(names) {
			return usage(cmd, fmt.Errorf("unexpected argument %q", args[len(names)]))
		}
		return nil
	}
}

// rolloutName is the name in an argument, which may be as kubectl prints it with -o name.
func rolloutName(argument string) string {
	if kind, name, ok := strings.Cut(argument, "/"); ok && slices.Contains([]string{"rollout.binnacle.dev", "rollouts.binnacle.dev", "rollout", "rollouts", "rlt"}, kind) {
		return name
	}
	return argument
}

// usage says where help is.
func usage(cmd *cobra.Command, err error) error {
	return fmt.Errorf("%w\nSee '%s --help' for help and examples", err, cmd.CommandPath())
}

func newVersionCommand(f *factory) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Show the version of the plugin", Args: exactly(),
		Example: "  kubectl binnacle version",
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(f.Out, version.String())
			return err
		},
	}
}
