package hubcheck

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apiregistration "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"

	"github.com/binnacle-dev/binnacle/pkg/apiserver"
)

// MinimumVersion is the oldest Kubernetes of a hub that is supported.
const MinimumVersion = "1.33"

// Level says what a finding means for the registration.
type Level string

const (
	// OK needs nothing.
	OK Level = "ok"
	// Note is worth knowing and stands in no way.
	Note Level = "note"
	// Problem is to be dealt with first.
	Problem Level = "problem"
)

// Finding is one thing that was looked at.
type Finding struct {
	// Check is which: hub-version, aggregation-layer, apiservice, customresourcedefinition or server-rights.
	Check string `json:"check"`
	Level Level  `json:"level"`
	// Object is the name of what it is about, where there are several.
	Object string `json:"object,omitempty"`
	// Message says what was found, and what to do about it.
	Message string `json:"message"`
	// Objects is how many objects a CRD holds that the registration would hide. Absent where they cannot be counted.
	Objects *int64 `json:"objects,omitempty"`
}

// Report is all that was found.
type Report struct {
	// Ready says that there is no problem.
	Ready    bool      `json:"ready"`
	Findings []Finding `json:"findings"`
}

// Checker is what a check is made with.
type Checker struct {
	// Hub, Extensions, Registration and Objects are whoever makes the check, an administrator of the hub.
	Hub          kubernetes.Interface
	Extensions   apiextensions.CustomResourceDefinitionsGetter
	Registration apiregistration.APIServicesGetter
	Objects      metadata.Interface
	// GroupVersions are those that a registration takes, and Serves says which kinds of them we have.
	GroupVersions []schema.GroupVersion
	Serves        func(schema.GroupVersionKind) bool
	// Service is the one that the APIServices of ours name, as namespace/name.
	Service string
	// Account is the server's service account, as namespace/name, and Rights what it needs.
	Account string
	Rights  []apiserver.HubRight
	// ServingCert is the Secret, as namespace/name, of a server that makes its certificate itself. Its rights count where the Secret is.
	ServingCert string
}

// New returns a check of the hub for the server's defaults.
func New(config *rest.Config) (*Checker, error) {
	c := &Checker{Serves: apiserver.Scheme.Recognizes}
	for _, name := range apiserver.APIServiceNames() {
		version, group, _ := strings.Cut(name, ".")
		c.GroupVersions = append(c.GroupVersions, schema.GroupVersion{Group: group, Version: version})
	}
	var err error
	if c.Hub, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	if c.Extensions, err = apiextensions.NewForConfig(config); err != nil {
		return nil, err
	}
	if c.Registration, err = apiregistration.NewForConfig(config); err != nil {
		return nil, err
	}
	c.Objects, err = metadata.NewForConfig(config)
	return c, err
}

// Run looks at everything. An error means that something could not be looked at, and nothing is said then.
func (c *Checker) Run(ctx context.Context) (Report, error) {
	report := Report{Ready: true}
	services, err := c.apiServices(ctx)
	if err != nil {
		return Report{}, err
	}
	for _, look := range []func(context.Context) ([]Finding, error){
		c.version,
		c.aggregationLayer,
		func(context.Context) ([]Finding, error) { return services.findings(), nil },
		func(ctx context.Context) ([]Finding, error) { return c.definitions(ctx, services) },
		c.rights,
	} {
		found, err := look(ctx)
		if err != nil {
			return Report{}, err
		}
		report.Findings = append(report.Findings, found...)
	}
	for _, f := range report.Findings {
		report.Ready = report.Ready && f.Level != Problem
	}
	return report, nil
}

func (c *Checker) version(context.Context) ([]Finding, error) {
	info, err := c.Hub.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("ask the hub for its version: %w", err)
	}
	f := Finding{Check: "hub-version", Level: OK, Message: "Kubernetes " + info.GitVersion}
	version, err := utilversion.ParseGeneric(info.GitVersion)
	if err != nil {
		f.Level, f.Message = Note, fmt.Sprintf("the hub calls itself %q, which says no version; %s and newer are supported", info.GitVersion, MinimumVersion)
	} else if version.LessThan(utilversion.MustParseGeneric(MinimumVersion)) {
		f.Level, f.Message = Problem, fmt.Sprintf("Kubernetes %s; %s and newer are supported", info.GitVersion, MinimumVersion)
	}
	return []Finding{f}, nil
}

// The hub publishes there with which certificate, and under which headers, it passes requests on. Without it no server behind it can
// know who calls.
const (
	authenticationNamespace = "kube-system"
	authenticationConfigMap = "extension-apiserver-authentication"
	requestHeaderCA         = "requestheader-client-ca-file"
)

func (c *Checker) aggregationLayer(ctx context.Context) ([]Finding, error) {
	f := Finding{Check: "aggregation-layer", Level: OK, Message: "on"}
	published, err := c.Hub.CoreV1().ConfigMaps(authenticationNamespace).Get(ctx, authenticationConfigMap, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("read ConfigMap %s/%s: %w", authenticationNamespace, authenticationConfigMap, err)
	}
	if err != nil || published.Data[requestHeaderCA] == "" {
		f.Level, f.Message = Problem, fmt.Sprintf("off: %s/%s has no %s; kube-apiserver needs --requestheader-client-ca-file and --proxy-client-cert-file",
			authenticationNamespace, authenticationConfigMap, requestHeaderCA)
	}
	return []Finding{f}, nil
}
