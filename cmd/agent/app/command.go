// Package app is the command line of the agent.
package app

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/restclient" // what the clients of both clusters do
	"k8s.io/component-base/term"
	"k8s.io/klog/v2"

	"github.com/binnacle-dev/binnacle/pkg/agent"
	"github.com/binnacle-dev/binnacle/pkg/version"
)

// usageError is a command line that is wrong.
type usageError struct{ error }

// Unwrap returns what is wrong with it.
func (e usageError) Unwrap() error { return e.error }

// IsUsage says whether the command line is what was wrong.
func IsUsage(err error) bool {
	var usage usageError
	return errors.As(err, &usage)
}

// NewCommand returns the command of the agent, which runs until ctx ends.
func NewCommand(ctx context.Context) *cobra.Command {
	o := NewOptions()
	cmd := &cobra.Command{
		Use:   "binnacle-agent",
		Short: "Reports what a member cluster says of itself to the hub",
		Long: `The Binnacle agent watches the nodes and pods of a member cluster and reports to the hub, for the cluster's ClusterStatus: its version, how many
nodes it has, what they can hold and what is left of it, its ClusterProperty objects, and whether its API server answers. It needs one right on
the hub: to create clusterstatuses/report for this cluster.`,
		Version:       version.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.NoArgs(cmd, args); err != nil {
				return usageError{err}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Complete(); err != nil {
				return usageError{err}
			}
			if err := o.Validate(); err != nil {
				return usageError{err}
			}
			return o.run(cmd.Context())
		},
	}
	cmd.SetContext(ctx)
	cmd.SetVersionTemplate("{{.Version}}\n")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	flags := o.Flags()
	for _, group := range flags.FlagSets {
		cmd.Flags().AddFlagSet(group)
	}
	width, _, _ := term.TerminalSize(cmd.OutOrStdout())
	cliflag.SetUsageAndHelpFunc(cmd, flags, width)
	cmd.CompletionOptions.DisableDefaultCmd = true
	return cmd
}

// run reports until ctx ends.
func (o *Options) run(ctx context.Context) error {
	if err := logsapi.ValidateAndApply(o.Logs, gates); err != nil {
		return usageError{err}
	}
	klog.InfoS("Starting", "version", version.String(), "cluster", klog.KRef(o.ClusterNamespace, o.ClusterName))
	c, err := o.config()
	if err != nil {
		return err
	}
	if c.Listener != nil {
		defer c.Listener.Close()
	}
	if err := c.Metrics.Register(legacyregistry.Register); err != nil {
		return err
	}
	return agent.Run(ctx, c)
}
