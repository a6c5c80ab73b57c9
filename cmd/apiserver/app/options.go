package app

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
	logsapi "k8s.io/component-base/logs/api/v1"
	baseversion "k8s.io/component-base/version"

	"github.com/binnacle-dev/binnacle/pkg/apiserver"
	"github.com/binnacle-dev/binnacle/pkg/features"
	"github.com/binnacle-dev/binnacle/pkg/standalone"
	"github.com/binnacle-dev/binnacle/pkg/version"
)

const (
	// embedded as the only etcd server stands for the one inside this process.
	embedded = "embedded"
	// defaultPort is none of kube-apiserver's, which often runs on the same machine.
	defaultPort = 7443
	// defaultService is the one of artifacts/registration.
	defaultService = "binnacle-system/binnacle-apiserver"
	// defaultServingCertSecret is the one of artifacts/components/managed-certificate.
	defaultServingCertSecret = "binnacle-system/binnacle-serving-cert"
	// defaultDataDir is where a service keeps its state (Filesystem Hierarchy Standard, /var/lib).
	defaultDataDir = "/var/lib/binnacle"
)

// Options is what the command line says.
type Options struct {
	// Recommended is what every aggregated server has: etcd, serving, identity, admission, audit, tracing, egress.
	Recommended *genericoptions.RecommendedOptions
	// Run is timeouts, in-flight limits and shutdown.
	Run *genericoptions.ServerRunOptions
	// Enablement is which versions are served.
	Enablement *genericoptions.APIEnablementOptions
	// Logs is what is logged, and how.
	Logs *logsapi.LoggingConfiguration

	// ClusterStatus is how reports are taken, and how the view of the clusters is computed.
	ClusterStatus clusterStatusOptions

	// Standalone serves without a hub.
	Standalone bool
	// DataDir holds what this server keeps on this machine: the embedded etcd, certificates, the kubeconfig.
	DataDir string
	// ServingCertSecret is the Secret, as namespace/name, in which the replicas keep a serving certificate that they make themselves.
	ServingCertSecret string
	// Service is the Service, as namespace/name, under which the hub reaches the replicas.
	Service string

	registry basecompatibility.ComponentGlobalsRegistry
	features featuregate.FeatureGate
	flags    cliflag.NamedFlagSets
}

// NewOptions returns the defaults. Versions and feature gates are kept in registry, which a process has one of.
func NewOptions(registry basecompatibility.ComponentGlobalsRegistry) (*Options, error) {
	registry.ComponentGlobalsOrRegister(basecompatibility.DefaultKubeComponent,
		basecompatibility.NewEffectiveVersionFromString(baseversion.DefaultKubeBinaryVersion, "", ""), utilfeature.DefaultMutableFeatureGate)
	_, gates := registry.ComponentGlobalsOrRegister(version.Component,
		basecompatibility.NewEffectiveVersionFromString(version.Minor, "", ""), featuregate.NewVersionedFeatureGate(utilversion.MustParse(version.Minor)))
	if err := features.Add(gates); err != nil {
		return nil, err
	}
	if err := registry.SetVersionMapping(version.Component, basecompatibility.DefaultKubeComponent, version.Kubernetes); err != nil {
		return nil, err
	}
	o := &Options{
		Recommended: genericoptions.NewRecommendedOptions(apiserver.EtcdPrefix, nil),
		Run:         genericoptions.NewServerRunOptionsForComponent(version.Component, registry),
		Enablement:  genericoptions.NewAPIEnablementOptions(),
		Logs:        logsapi.NewLoggingConfiguration(),

		ClusterStatus: newClusterStatusOptions(),
		DataDir:       defaultDataDir,
		Service:       defaultService,
		registry:      registry,
		features:      gates,
	}
	apiserver.AddAdmissionPlugins(o.Recommended)
	etcd := o.Recommended.Etcd
	etcd.DefaultStorageMediaType = runtime.ContentTypeProtobuf
	etcd.StorageConfig.Transport.ServerList = []string{embedded}
	serving := o.Recommended.SecureServing
	serving.BindPort = defaultPort
	serving.ServerCert.CertDirectory = ""
	serving.ServerCert.PairName = "self-signed"
	// Watches end last at shutdown, and never by themselves.
	o.Run.ShutdownWatchTerminationGracePeriod = defaultWatchGrace
	return o, nil
}

// Flags returns the flags in groups.
func (o *Options) Flags() cliflag.NamedFlagSets {
	if len(o.flags.Order) > 0 {
		return o.flags
	}
	own := o.flags.FlagSet("binnacle")
	own.BoolVar(&o.Standalone, "standalone", o.Standalone, ""+
		"Serve without a hub: own certificates, one administrator (DATA-DIR/kubeconfig), every namespace name accepted, no policies of a hub.")
	own.StringVar(&o.DataDir, "data-dir", o.DataDir, ""+
		"Folder for what this server keeps on this machine: the embedded etcd, generated certificates, the standalone kubeconfig. One process may use it.")
	managed := o.flags.FlagSet("managed certificate")
	managed.StringVar(&o.ServingCertSecret, "serving-cert-secret", o.ServingCertSecret, ""+
		"Secret on the hub, as NAMESPACE/NAME, in which all replicas keep one serving certificate that they make and renew themselves. Its CA is written into the caBundle of our APIServices. Instead of --tls-cert-file.")
	managed.StringVar(&o.Service, "service", o.Service, ""+
		"Service, as NAMESPACE/NAME, under which the hub reaches this server: the name in the certificate of --serving-cert-secret.")
	o.ClusterStatus.addFlags(o.flags.FlagSet("cluster status"))
	r := o.Recommended
	o.Run.AddUniversalFlags(o.flags.FlagSet("generic"))
	r.Etcd.AddFlags(o.flags.FlagSet("etcd"))
	o.flags.FlagSet("etcd").Lookup("etcd-servers").Usage = "" +
		"List of etcd servers to connect with (scheme://ip:port), comma separated; or the word embedded for an etcd inside this process, which is for one replica only."
	r.SecureServing.AddFlags(o.flags.FlagSet("secure serving"))
	r.Authentication.AddFlags(o.flags.FlagSet("authentication"))
	r.Authorization.AddFlags(o.flags.FlagSet("authorization"))
	r.CoreAPI.AddFlags(o.flags.FlagSet("hub"))
	r.Admission.AddFlags(o.flags.FlagSet("admission"))
	r.Audit.AddFlags(o.flags.FlagSet("auditing"))
	r.Features.AddFlags(o.flags.FlagSet("features"))
	o.Enablement.AddFlags(o.flags.FlagSet("API enablement"))
	r.EgressSelector.AddFlags(o.flags.FlagSet("egress selector"))
	r.Traces.AddFlags(o.flags.FlagSet("traces"))
	logsapi.AddFlags(o.Logs, o.flags.FlagSet("logs"))
	return o.flags
}

// hubOnly are the groups of flags that mean nothing without a hub.
var hubOnly = []string{"managed certificate", "authentication", "authorization", "hub", "admission"}

// Complete fills in what follows from what was said.
func (o *Options) Complete() error {
	if err := o.registry.Set(); err != nil {
		return err
	}
	dir, err := filepath.Abs(o.DataDir)
	if err != nil {
		return err
	}
	o.DataDir = dir
	serving := o.Recommended.SecureServing
	if serving.ServerCert.CertDirectory == "" {
		serving.ServerCert.CertDirectory = o.pkiDir()
	}
	if !o.Standalone {
		return nil
	}
	if err := o.refuseHubFlags(); err != nil {
		return err
	}
	r := o.Recommended
	r.Authentication, r.Authorization, r.CoreAPI, r.Admission = nil, nil, nil, nil
	// Priority and fairness is configured by objects of the hub; without one the in-flight limits hold.
	r.Features.EnablePriorityAndFairness = false
	if !o.flags.FlagSet("secure serving").Changed("secure-port") {
		// A restart keeps the port: clients have it in their kubeconfig.
		if port := standalone.PortOf(o.kubeconfig()); port != 0 {
			serving.BindPort = port
		}
	}
	return nil
}

func (o *Options) refuseHubFlags() error {
	var without []string
	for _, group := range hubOnly {
		// Visit would see nothing: the flags are parsed as those of the command, which shares them.
		o.flags.FlagSet(group).VisitAll(func(f *pflag.Flag) {
			if f.Changed {
				without = append(without, "--"+f.Name)
			}
		})
	}
	if f := o.flags.FlagSet("features").Lookup("enable-priority-and-fairness"); f.Changed && f.Value.String() == "true" {
		without = append(without, "--"+f.Name)
	}
	if len(without) > 0 {
		return fmt.Errorf("--standalone serves without a hub, so %s would have no effect: remove it, or --standalone", strings.Join(without, ", "))
	}
	return nil
}

// Validate says everything that is wrong with the options.
func (o *Options) Validate() error {
	errs := o.Recommended.Validate()
	errs = append(errs, o.Run.Validate()...)
	errs = append(errs, o.ClusterStatus.validate()...)
	errs = append(errs, o.Enablement.Validate(apiserver.Scheme)...)
	if err := logsapi.ValidateAndApply(o.Logs, utilfeature.DefaultFeatureGate); err != nil {
		errs = append(errs, err)
	}
	for _, server := range o.Recommended.Etcd.StorageConfig.Transport.ServerList {
		if server == embedded && !o.embedded() {
			errs = append(errs, errors.New("--etcd-servers: embedded stands alone, it cannot be one of several servers"))
		}
	}
	return utilerrors.NewAggregate(append(errs, o.validateManagedCert()...))
}

func (o *Options) validateManagedCert() []error {
	if o.ServingCertSecret == "" {
		return nil
	}
	var errs []error
	if pair := o.Recommended.SecureServing.ServerCert.CertKey; pair.CertFile != "" || pair.KeyFile != "" {
		errs = append(errs, errors.New("--serving-cert-secret and --tls-cert-file each name the serving certificate: give one of them"))
	}
	return append(errs, validateName("--serving-cert-secret", o.ServingCertSecret), validateName("--service", o.Service))
}

// validateName says what is wrong with a flag whose value is the name of an object of the hub.
func validateName(flag, value string) error {
	if namespace, name, _ := strings.Cut(value, "/"); namespace == "" || name == "" || strings.Contains(name, "/") {
		return fmt.Errorf("%s: %q is not of the form NAMESPACE/NAME", flag, value)
	}
	return nil
}

// embedded says whether etcd runs inside this process.
func (o *Options) embedded() bool {
	servers := o.Recommended.Etcd.StorageConfig.Transport.ServerList
	return len(servers) == 1 && servers[0] == embedded
}

func (o *Options) pkiDir() string     { return filepath.Join(o.DataDir, "pki") }
func (o *Options) etcdDir() string    { return filepath.Join(o.DataDir, "etcd") }
func (o *Options) kubeconfig() string { return filepath.Join(o.DataDir, "kubeconfig") }
