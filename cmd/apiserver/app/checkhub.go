package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/binnacle-dev/binnacle/pkg/apiserver"
	"github.com/binnacle-dev/binnacle/pkg/hubcheck"
)

// defaultAccount is the one of artifacts/base.
const defaultAccount = "binnacle-system/binnacle-apiserver"

// hubTimeout is how long the hub may take for one answer.
const hubTimeout = 10 * time.Second

// checkHub is the command line of check-hub.
type checkHub struct {
	server      *Options
	account     string
	service     string
	servingCert string
	output      string
}

// errNotReady ends a check whose findings say what is wrong.
var errNotReady = ExitError{fmt.Errorf("not ready for the registration: see what is marked as a problem"), 1}

func (o *Options) checkHubCommand() *cobra.Command {
	c := &checkHub{server: o}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	overrides := &clientcmd.ConfigOverrides{}
	cmd := &cobra.Command{
		Use:   "check-hub",
		Short: "Look at a hub before Binnacle is registered there; changes nothing",
		Long: `Looks at a hub, as its administrator, before Binnacle is registered there: its version, its aggregation layer, who has our group-versions,
which CRDs the registration would hide and how many objects they hold, and what the server's account may not do. It changes nothing.

Exit code 0: nothing stands in the way. 1: something does, and is printed as a problem. 2: the hub could not be looked at.`,
		Args:          usage(cobra.NoArgs),
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
			if clientcmd.IsEmptyConfig(err) {
				err = errors.New("no hub is named: give a kubeconfig with --kubeconfig or KUBECONFIG")
			}
			if err != nil {
				return ExitError{err, 2}
			}
			config.Timeout = hubTimeout
			return c.run(cmd.Context(), config, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&rules.ExplicitPath, "kubeconfig", "", "File with an administrator of the hub. Without it, KUBECONFIG and ~/.kube/config are read as kubectl does.")
	flags.StringVar(&overrides.CurrentContext, "context", "", "Context of the kubeconfig.")
	flags.StringVar(&c.account, "server-account", defaultAccount, "Service account of the server, as NAMESPACE/NAME, whose rights are checked.")
	flags.StringVar(&c.service, "service", defaultService, "Service, as NAMESPACE/NAME, that our APIServices name.")
	flags.StringVar(&c.servingCert, "serving-cert-secret", defaultServingCertSecret,
		"Secret of a server that makes its certificate itself, as NAMESPACE/NAME. Where it exists, the rights that this needs are checked too.")
	flags.StringVarP(&c.output, "output", "o", "text", "text or json.")
	ownUsage(cmd)
	return cmd
}

func (c *checkHub) run(ctx context.Context, config *rest.Config, out io.Writer) error {
	if !slices.Contains([]string{"text", "json"}, c.output) {
		return ExitError{fmt.Errorf("--output: %q is neither text nor json", c.output), 2}
	}
	for _, err := range []error{
		validateName("--server-account", c.account), validateName("--service", c.service), validateName("--serving-cert-secret", c.servingCert),
	} {
		if err != nil {
			return ExitError{err, 2}
		}
	}
	checker, err := hubcheck.New(config)
	if err != nil {
		return ExitError{err, 2}
	}
	missing, err := apiserver.MissingPlugins(checker.Hub.Discovery())
	if apierrors.IsNotFound(err) {
		err = fmt.Errorf("%s is no Kubernetes hub, it has no admission kinds; a standalone Binnacle has none either, and needs no registration", config.Host)
	}
	if err != nil {
		return ExitError{err, 2}
	}
	c.server.Recommended.Admission.DisablePlugins = missing
	checker.Account, checker.Service, checker.ServingCert = c.account, c.service, c.servingCert
	checker.Rights = apiserver.HubRights(c.server.enabledPlugins(), true)
	report, err := checker.Run(ctx)
	if err != nil {
		return ExitError{err, 2}
	}
	if err := c.print(out, report); err != nil {
		return ExitError{err, 2}
	}
	if !report.Ready {
		return errNotReady
	}
	return nil
}

func (c *checkHub) print(out io.Writer, report hubcheck.Report) error {
	if c.output == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(report)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, f := range report.Findings {
		about := f.Message
		if f.Object != "" {
			about = f.Object + ": " + about
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", f.Level, f.Check, about)
	}
	return table.Flush()
}
