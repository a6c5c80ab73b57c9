package app

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/klog/v2"
	apiregistration "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
	"k8s.io/utils/clock"

	"github.com/binnacle-dev/binnacle/pkg/apiserver"
	"github.com/binnacle-dev/binnacle/pkg/certexpiry"
	"github.com/binnacle-dev/binnacle/pkg/features"
	"github.com/binnacle-dev/binnacle/pkg/servingcert"
	"github.com/binnacle-dev/binnacle/pkg/standalone"
)

// newConfig applies the options in the one order in which each finds what it reads: the limits and the version before fairness and
// admission, the OpenAPI documents before authentication, the storage last.
func (o *Options) newConfig() (*genericapiserver.RecommendedConfig, error) {
	c := apiserver.NewGenericConfig()
	if err := o.Run.ApplyTo(&c.Config); err != nil {
		return nil, err
	}
	// Run.ApplyTo sets our own gates, but the generic server asks this one for those of the Kubernetes libraries.
	c.FeatureGate = o.registry.FeatureGateFor(basecompatibility.DefaultKubeComponent)
	if err := o.Enablement.ApplyTo(&c.Config, apiserver.DefaultResources(), apiserver.Scheme); err != nil {
		return nil, err
	}
	// The storage goes through a factory of ours; applied here as well, etcd would get two health checks.
	withoutStorage := *o.Recommended
	withoutStorage.Etcd = nil
	if err := withoutStorage.ApplyTo(c); err != nil {
		// The library wraps the error of the listener in words only.
		if strings.Contains(err.Error(), syscall.EADDRINUSE.Error()) {
			return nil, fmt.Errorf("%w: choose another port with --secure-port", err)
		}
		return nil, err
	}
	return c, apiserver.ApplyStorage(o.Recommended.Etcd, o.features.Enabled(features.StorageCompression), &c.Config)
}

// newStandalone returns a server that is its own authority.
func (o *Options) newStandalone(context.Context) (*genericapiserver.GenericAPIServer, error) {
	serving := o.Recommended.SecureServing
	host := o.standaloneHost()
	pki, err := standalone.EnsurePKI(o.pkiDir(), []string{host})
	if err != nil {
		return nil, err
	}
	if serving.ServerCert.CertKey == (genericoptions.CertKey{}) {
		serving.ServerCert.CertKey.CertFile, serving.ServerCert.CertKey.KeyFile = pki.ServerFiles()
	}
	c, err := o.newConfig()
	if err != nil {
		return nil, err
	}
	if err := standalone.ApplyIdentity(pki, &c.Config); err != nil {
		return nil, err
	}
	server, err := apiserver.Config{Generic: c, Features: o.features, Traced: o.Recommended.Traces.ConfigFile != "", ClusterStatus: o.clusterStatusConfig()}.New()
	if err != nil {
		return nil, err
	}
	address := net.JoinHostPort(host, strconv.Itoa(serving.BindPort))
	if err := pki.WriteKubeconfig(o.kubeconfig(), address); err != nil {
		return nil, err
	}
	fmt.Fprintf(os.Stderr, "Binnacle serves https://%s without a hub: %s is the only identity, every namespace name is accepted, and no policies of a hub are evaluated.\n",
		address, o.kubeconfig())
	return server, certexpiry.Observe(o.certificates(&c.Config)...)
}

// standaloneHost is under which name or address the administrator reaches a standalone server.
func (o *Options) standaloneHost() string {
	if o.Run.ExternalHost != "" {
		return o.Run.ExternalHost
	}
	if bind := o.Recommended.SecureServing.BindAddress; bind != nil && !bind.IsUnspecified() {
		return bind.String()
	}
	return "127.0.0.1"
}

// newAggregated returns a server of a hub, under whose identities, rights and policies it serves.
func (o *Options) newAggregated(ctx context.Context) (*genericapiserver.GenericAPIServer, error) {
	config, hub, err := o.hubClient()
	if err != nil {
		return nil, err
	}
	if err := o.applyServingCert(ctx, config, hub); err != nil {
		return nil, err
	}
	if err := o.goWithout(hub); err != nil {
		return nil, err
	}
	c, err := o.newConfig()
	if err != nil {
		return nil, err
	}
	wall := clock.RealClock{}
	authenticate := apiserver.RememberFrontProxies(c.Authentication.Authenticator, c.Authentication.RequestHeaderConfig, wall)
	c.Authentication.Authenticator = apiserver.RememberReporterTokens(apiserver.AnonymousOnlyForHealth(authenticate), o.ClusterStatus.ReporterTTL, wall)
	reporters, err := o.reportAuthorizer()
	if err != nil {
		return nil, err
	}
	server, err := apiserver.Config{
		Generic: c, Features: o.features, Traced: o.Recommended.Traces.ConfigFile != "", ClusterStatus: o.clusterStatusConfig(), ReportAuthorizer: reporters,
	}.New()
	if err != nil {
		return nil, err
	}
	if o.looksUpHubIdentity() {
		if err := apiserver.AddHubIdentityCheck(server, hub, c.SecureServing.ClientCA.CurrentCABundleContent); err != nil {
			return nil, err
		}
	}
	rights := apiserver.HubRights(o.enabledPlugins(), o.Recommended.Features.EnablePriorityAndFairness)
	if err := apiserver.AddHubAccessChecks(server, hub, rights); err != nil {
		return nil, err
	}
	return server, certexpiry.Observe(o.certificates(&c.Config)...)
}

// certificates are those that can end while the server runs.
func (o *Options) certificates(c *genericapiserver.Config) []certexpiry.Certificate {
	var found []certexpiry.Certificate
	if serving := c.SecureServing; serving != nil && serving.Cert != nil {
		found = append(found, certexpiry.Serving("serving", serving.Cert))
	}
	proxy := c.Authentication.RequestHeaderConfig
	if proxy != nil {
		found = append(found, certexpiry.Trusted("front-proxy-ca", proxy.CAContentProvider))
	}
	if serving := c.SecureServing; serving != nil && serving.ClientCA != nil {
		callers := certexpiry.Trusted("client-ca", serving.ClientCA)
		if proxy != nil { // The library adds its CAs to those of the callers.
			callers = callers.Without(certexpiry.Trusted("front-proxy-ca", proxy.CAContentProvider))
		}
		found = append(found, callers)
	}
	if file := o.Recommended.Etcd.StorageConfig.Transport.CertFile; file != "" {
		found = append(found, certexpiry.File("etcd-client", file))
	}
	return found
}

// looksUpHubIdentity says whether the server learns from the hub whom to trust, and not from files.
func (o *Options) looksUpHubIdentity() bool {
	authentication := o.Recommended.Authentication
	return !authentication.SkipInClusterLookup && !authentication.TolerateInClusterLookupFailure &&
		authentication.ClientCert.ClientCA == "" && authentication.RequestHeader.ClientCAFile == ""
}

// hubClient is the server's own identity on the hub.
func (o *Options) hubClient() (*rest.Config, kubernetes.Interface, error) {
	c := &genericapiserver.RecommendedConfig{}
	if err := o.Recommended.CoreAPI.ApplyTo(c); err != nil {
		return nil, nil, fmt.Errorf("cannot reach a hub (--kubeconfig names it; --standalone serves without one): %w", err)
	}
	// It asks a dozen questions at start, which the default of five a second would stretch.
	config := rest.CopyConfig(c.ClientConfig)
	config.QPS, config.Burst = 50, 100
	client, err := kubernetes.NewForConfig(config)
	return config, client, err
}

// applyServingCert makes the certificate that replicas share, or one of this process where none was named at all.
func (o *Options) applyServingCert(ctx context.Context, config *rest.Config, hub kubernetes.Interface) error {
	serving := o.Recommended.SecureServing
	if o.ServingCertSecret == "" {
		loopback := []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
		if err := serving.MaybeDefaultWithSelfSignedCerts("localhost", nil, loopback); err != nil {
			return fmt.Errorf("cannot make a serving certificate: %w", err)
		}
		return nil
	}
	registration, err := apiregistration.NewForConfig(config)
	if err != nil {
		return err
	}
	secretNamespace, secret, _ := strings.Cut(o.ServingCertSecret, "/")
	serviceNamespace, service, _ := strings.Cut(o.Service, "/")
	manager := &servingcert.Manager{Config: servingcert.Config{
		Namespace: secretNamespace, Secret: secret,
		ServiceNamespace: serviceNamespace, Service: service,
		APIServices: apiserver.APIServiceNames(),
		Client:      hub, Registration: registration, Clock: clock.RealClock{},
	}}
	if err := manager.RunOnce(ctx); apierrors.IsForbidden(err) {
		return fmt.Errorf("%w; see the Role and the ClusterRole in artifacts/components/managed-certificate", err)
	} else if err != nil {
		return err
	}
	serving.ServerCert.GeneratedCert = manager
	return nil
}

// goWithout disables the admission plugins whose kinds the hub is too old to have.
func (o *Options) goWithout(hub kubernetes.Interface) error {
	missing, err := apiserver.MissingPlugins(hub.Discovery())
	if err != nil {
		return err
	}
	admission := o.Recommended.Admission
	for _, plugin := range missing {
		if slices.Contains(admission.EnablePlugins, plugin) {
			return fmt.Errorf("--enable-admission-plugins: %s needs kinds that this hub does not serve", plugin)
		}
		if !slices.Contains(admission.DisablePlugins, plugin) {
			klog.InfoS("Going without an admission plugin whose kinds this hub does not serve", "plugin", plugin)
			admission.DisablePlugins = append(admission.DisablePlugins, plugin)
		}
	}
	return nil
}

// enabledPlugins are the admission plugins that will run.
func (o *Options) enabledPlugins() []string {
	admission := o.Recommended.Admission
	var enabled []string
	for _, plugin := range admission.RecommendedPluginOrder {
		off := admission.DefaultOffPlugins.Has(plugin) && !slices.Contains(admission.EnablePlugins, plugin)
		if !off && !slices.Contains(admission.DisablePlugins, plugin) {
			enabled = append(enabled, plugin)
		}
	}
	return enabled
}
