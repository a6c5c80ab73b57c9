// Package app is the command line of the server: flags, wiring and the order of start and stop.
package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	"k8s.io/component-base/term"
	"k8s.io/klog/v2"

	"github.com/binnacle-dev/binnacle/pkg/embeddedetcd"
	"github.com/binnacle-dev/binnacle/pkg/version"
)

// defaultWatchGrace is how long open watches get to end by themselves at shutdown.
const defaultWatchGrace = 2 * time.Second

func init() {
	// The gates of the logging library have to be there before --feature-gates is parsed.
	utilruntime.Must(logsapi.AddFeatureGates(utilfeature.DefaultMutableFeatureGate))
}

// NewCommand returns the command of the server, which runs until ctx ends.
func NewCommand(ctx context.Context) (*cobra.Command, error) {
	o, err := NewOptions(compatibility.DefaultComponentGlobalsRegistry)
	if err != nil {
		return nil, err
	}
	cmd := &cobra.Command{
		Use:   "binnacle-apiserver",
		Short: "The API server of a multi-cluster hub",
		Long: `The Binnacle API server keeps the inventory of a multi-cluster hub: the SIG-Multicluster kinds ClusterProfile and PlacementDecision,
from a storage of its own. With --standalone it serves by itself; without, it is an aggregated server of a hub cluster, whose identities, rights and
admission policies it follows.

binnacle-apiserver check-hub looks at a hub before the registration, binnacle-apiserver snapshot saves the embedded etcd,
binnacle-apiserver restore goes back to what was saved; each has its --help.`,
		Version:       version.String(),
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Complete(); err != nil {
				return err
			}
			if err := o.Validate(); err != nil {
				return err
			}
			return o.run(cmd.Context())
		},
	}
	cmd.SetContext(ctx)
	cmd.SetVersionTemplate("{{.Version}}\n")
	flags := o.Flags()
	for _, group := range flags.FlagSets {
		cmd.Flags().AddFlagSet(group)
	}
	width, _, _ := term.TerminalSize(cmd.OutOrStdout())
	cliflag.SetUsageAndHelpFunc(cmd, flags, width)
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.AddCommand(o.checkHubCommand(), o.snapshotCommand(), o.restoreCommand())
	return cmd, nil
}

// run starts etcd, serves until ctx ends, and stops in the opposite order: what the API server accepted is on disk before etcd ends.
func (o *Options) run(ctx context.Context) error {
	klog.InfoS("Starting", "version", version.String())
	if o.embedded() {
		etcd, err := embeddedetcd.Start(ctx, o.etcdDir())
		if errors.Is(err, embeddedetcd.ErrLocked) {
			return fmt.Errorf("the data directory %s belongs to another binnacle-apiserver that is running: stop it, or give this one a --data-dir of its own", o.DataDir)
		}
		if err != nil {
			return err
		}
		defer etcd.Stop()
		o.Recommended.Etcd.StorageConfig.Transport.ServerList = []string{etcd.Endpoint()}
	}
	newServer := o.newAggregated
	if o.Standalone {
		newServer = o.newStandalone
	}
	server, err := newServer(ctx)
	if err != nil {
		return err
	}
	return server.PrepareRun().RunWithContext(ctx)
}
