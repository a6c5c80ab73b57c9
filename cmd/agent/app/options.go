package app

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/validate/content"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/featuregate"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/binnacle-dev/binnacle/pkg/agent"
)

// defaultHealthAddress is for whoever runs the agent by hand; the kubelet needs an address of the pod.
const defaultHealthAddress = "127.0.0.1:8081"

// The intervals that a report may ask for.
const minInterval, maxInterval = time.Second, time.Hour

// gates are those of the logging library, as it has them by default.
var gates = logGates()

func logGates() featuregate.FeatureGate {
	all := featuregate.NewFeatureGate()
	utilruntime.Must(logsapi.AddFeatureGates(all))
	return all
}

// Options is what the command line says.
type Options struct {
	// Kubeconfig is the file with the cluster that is reported on. Empty for the one that the agent runs in.
	Kubeconfig string
	// HubKubeconfig is the file with the hub and the credentials for it.
	HubKubeconfig string
	// ClusterNamespace and ClusterName are those of the ClusterProfile on the hub.
	ClusterNamespace, ClusterName string
	// ClusterProfileUID is the uid that the ClusterProfile has to have. Empty for any.
	ClusterProfileUID string
	// Interval is how often the cluster would like to report. 0 leaves it to the hub.
	Interval time.Duration
	// Resources are the names of the resources that are reported. Empty for all.
	Resources []string
	// HealthBindAddress is where probes and metrics are answered. Empty for nowhere.
	HealthBindAddress string
	// Logs is what is logged, and how.
	Logs *logsapi.LoggingConfiguration

	flags cliflag.NamedFlagSets
}

// NewOptions returns the defaults.
func NewOptions() *Options {
	return &Options{HealthBindAddress: defaultHealthAddress, Logs: logsapi.NewLoggingConfiguration()}
}

// Flags returns the flags in groups.
func (o *Options) Flags() cliflag.NamedFlagSets {
	if len(o.flags.Order) > 0 {
		return o.flags
	}
	o.AddFlags(o.flags.FlagSet("agent"))
	o.addLogFlags(o.flags.FlagSet("logs"))
	return o.flags
}

// addLogFlags leaves out those that have no effect without a feature gate.
func (o *Options) addLogFlags(fs *pflag.FlagSet) {
	all := pflag.NewFlagSet("logs", pflag.ContinueOnError)
	logsapi.AddFlags(o.Logs, all)
	for _, name := range []string{"logging-format", "log-flush-frequency", "v", "vmodule"} {
		fs.AddFlag(all.Lookup(name))
	}
}

// AddFlags adds the flags that are the agent's own.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig, ""+
		"File with the cluster that is reported on. Without it, that is the cluster in whose pod the agent runs.")
	fs.StringVar(&o.HubKubeconfig, "hub-kubeconfig", o.HubKubeconfig, ""+
		"File with the hub and the credentials for it. It is read again when it changes, and so are the files that it names. Required.")
	fs.StringVar(&o.ClusterNamespace, "cluster-namespace", o.ClusterNamespace, "Namespace of the cluster's ClusterProfile on the hub. Required.")
	fs.StringVar(&o.ClusterName, "cluster-name", o.ClusterName, "Name of the cluster's ClusterProfile on the hub. Required.")
	fs.StringVar(&o.ClusterProfileUID, "cluster-profile-uid", o.ClusterProfileUID, ""+
		"The uid that the ClusterProfile has to have. With it, the hub refuses reports for a cluster that was registered anew under this name.")
	fs.DurationVar(&o.Interval, "interval", o.Interval, ""+
		"How often to report, if the hub agrees: whole seconds from 1s to 1h. What the hub asks for counts. 0 leaves it to the hub.")
	fs.StringSliceVar(&o.Resources, "resources", o.Resources, ""+
		"Names of the resources to report, comma separated, such as cpu,memory,nvidia.com/gpu. All that the nodes have where it is empty.")
	fs.StringVar(&o.HealthBindAddress, "health-bind-address", o.HealthBindAddress, ""+
		"IP address and port where /healthz, /readyz and /metrics are answered, without TLS; :8081 is every address. Nowhere where it is empty.")
}

// Complete fills in what follows from what was said.
func (o *Options) Complete() error {
	slices.Sort(o.Resources)
	o.Resources = slices.Compact(o.Resources)
	return nil
}

// Validate says everything that is wrong with the options.
func (o *Options) Validate() error {
	var errs []error
	if o.HubKubeconfig == "" {
		errs = append(errs, errors.New("--hub-kubeconfig is required"))
	}
	errs = append(errs, validateName("--cluster-namespace", o.ClusterNamespace)...)
	errs = append(errs, validateName("--cluster-name", o.ClusterName)...)
	if o.Interval != 0 && (o.Interval < minInterval || o.Interval > maxInterval || o.Interval%time.Second != 0) {
		errs = append(errs, fmt.Errorf("--interval: %s is not a number of seconds from %s to %s", o.Interval, minInterval, maxInterval))
	}
	for _, name := range o.Resources {
		for _, wrong := range content.IsLabelKey(name) {
			errs = append(errs, fmt.Errorf("--resources: %q: %s", name, wrong))
		}
	}
	if err := validateAddress(o.HealthBindAddress); err != nil {
		errs = append(errs, fmt.Errorf("--health-bind-address: %w", err))
	}
	errs = append(errs, logsapi.Validate(o.Logs, gates, nil).ToAggregate())
	return utilerrors.NewAggregate(errs)
}

func validateName(flag, value string) (errs []error) {
	if value == "" {
		return []error{fmt.Errorf("%s is required", flag)}
	}
	for _, wrong := range content.IsDNS1123Subdomain(value) {
		errs = append(errs, fmt.Errorf("%s: %q: %s", flag, value, wrong))
	}
	return errs
}

func validateAddress(address string) error {
	if address == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(address)
	if err == nil && host != "" && net.ParseIP(host) == nil {
		err = fmt.Errorf("%q is not an IP address", host)
	}
	return err
}

// config is what the options mean for the agent.
func (o *Options) config() (agent.Config, error) {
	c := agent.Config{
		Kubeconfig: o.Kubeconfig, HubKubeconfig: o.HubKubeconfig,
		Namespace: o.ClusterNamespace, Name: o.ClusterName, ProfileUID: o.ClusterProfileUID,
		Interval: o.Interval, Resources: o.Resources,
		Metrics: agent.NewMetrics(), MetricsHandler: legacyregistry.Handler(),
	}
	if o.HealthBindAddress == "" {
		return c, nil
	}
	var err error
	if c.Listener, err = net.Listen("tcp", o.HealthBindAddress); err != nil {
		err = fmt.Errorf("--health-bind-address: %w", err)
	}
	return c, err
}
