package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	basecompatibility "k8s.io/component-base/compatibility"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/apiserver"
	"github.com/binnacle-dev/binnacle/pkg/features"
	"github.com/binnacle-dev/binnacle/pkg/standalone"
	"github.com/binnacle-dev/binnacle/pkg/version"
)

// complete parses and completes a command line.
func complete(t *testing.T, args ...string) *Options {
	t.Helper()
	o := parse(t, args...)
	if err := o.Complete(); err != nil {
		t.Fatal(err)
	}
	return o
}

// validate says what is wrong with completed options.
func validate(t *testing.T, o *Options) error {
	t.Helper()
	// A process configures its logs once; each test is a process of its own.
	if err := logsapi.ResetForTest(utilfeature.DefaultFeatureGate); err != nil {
		t.Fatal(err)
	}
	return o.Validate()
}

func TestDefaults(t *testing.T) {
	o := complete(t)
	got := map[string]any{
		"standalone":  o.Standalone,
		"data-dir":    o.DataDir,
		"etcd":        o.Recommended.Etcd.StorageConfig.Transport.ServerList,
		"prefix":      o.Recommended.Etcd.StorageConfig.Prefix,
		"media type":  o.Recommended.Etcd.DefaultStorageMediaType,
		"port":        o.Recommended.SecureServing.BindPort,
		"cert-dir":    o.Recommended.SecureServing.ServerCert.CertDirectory,
		"watch grace": o.Run.ShutdownWatchTerminationGracePeriod.String(),
		"etcd inside": o.embedded(),
		"etcd dir":    o.etcdDir(),
		"kubeconfig":  o.kubeconfig(),
		"hub flags":   o.Recommended.CoreAPI != nil && o.Recommended.Authentication != nil && o.Recommended.Authorization != nil && o.Recommended.Admission != nil,
		"fairness":    o.Recommended.Features.EnablePriorityAndFairness,
		"CRD errors":  o.features.Enabled(features.CustomResourceErrors),
	}
	want := map[string]any{
		"standalone": false, "data-dir": "/var/lib/binnacle", "etcd": []string{"embedded"}, "prefix": "/registry/binnacle",
		"media type": "application/vnd.kubernetes.protobuf", "port": 7443, "cert-dir": "/var/lib/binnacle/pki", "watch grace": "2s", "etcd inside": true,
		"etcd dir": "/var/lib/binnacle/etcd", "kubeconfig": "/var/lib/binnacle/kubeconfig", "hub flags": true, "fairness": true, "CRD errors": true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := validate(t, o); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
}

func TestDataDirIsMadeAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	o := complete(t, "--data-dir=state")
	if want := filepath.Join(here, "state"); o.DataDir != want || o.Recommended.SecureServing.ServerCert.CertDirectory != filepath.Join(want, "pki") {
		t.Errorf("data in %s, certificates in %s", o.DataDir, o.Recommended.SecureServing.ServerCert.CertDirectory)
	}
	if o := complete(t, "--cert-dir=/elsewhere"); o.Recommended.SecureServing.ServerCert.CertDirectory != "/elsewhere" {
		t.Errorf("--cert-dir became %s", o.Recommended.SecureServing.ServerCert.CertDirectory)
	}
}

func TestStandaloneHasNoHub(t *testing.T) {
	o := complete(t, "--standalone", "--data-dir", t.TempDir())
	r := o.Recommended
	if r.CoreAPI != nil || r.Authentication != nil || r.Authorization != nil || r.Admission != nil || r.Features.EnablePriorityAndFairness {
		t.Errorf("something of a hub is left: %+v", r)
	}
	if err := validate(t, o); err != nil {
		t.Error(err)
	}
}

// TestStandaloneRefusesHubFlags names every flag that would have no effect, and no other.
func TestStandaloneRefusesHubFlags(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want []string
	}{
		{name: "none"},
		{name: "flags of its own", args: []string{"--secure-port=1234", "--etcd-servers=http://127.0.0.1:2379", "--enable-priority-and-fairness=false"}},
		{name: "hub", args: []string{"--kubeconfig=a"}, want: []string{"--kubeconfig"}},
		{name: "authentication", args: []string{"--client-ca-file=a"}, want: []string{"--client-ca-file"}},
		{name: "authorization", args: []string{"--authorization-kubeconfig=a"}, want: []string{"--authorization-kubeconfig"}},
		{name: "admission", args: []string{"--disable-admission-plugins=NamespaceLifecycle"}, want: []string{"--disable-admission-plugins"}},
		{name: "fairness", args: []string{"--enable-priority-and-fairness"}, want: []string{"--enable-priority-and-fairness"}},
		{name: "several", args: []string{"--kubeconfig=a", "--authentication-kubeconfig=a", "--authentication-skip-lookup"},
			want: []string{"--authentication-kubeconfig", "--authentication-skip-lookup", "--kubeconfig"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := parse(t, append(test.args, "--standalone", "--data-dir", t.TempDir())...).Complete()
			want := ""
			if len(test.want) > 0 {
				want = fmt.Sprintf("--standalone serves without a hub, so %s would have no effect: remove it, or --standalone", strings.Join(test.want, ", "))
			}
			got := ""
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if err := parse(t, test.args...).Complete(); err != nil {
				t.Errorf("on a hub: %v", err)
			}
		})
	}
}

func TestEmbeddedStandsAlone(t *testing.T) {
	tests := []struct {
		servers string
		refused bool
	}{
		{"embedded", false},
		{"http://127.0.0.1:2379", false},
		{"https://a:2379,https://b:2379", false},
		{"embedded,http://127.0.0.1:2379", true},
		{"http://127.0.0.1:2379,embedded", true},
		{"embedded,embedded", true},
	}
	for _, test := range tests {
		t.Run(test.servers, func(t *testing.T) {
			err := validate(t, complete(t, "--etcd-servers="+test.servers))
			if (err != nil) != test.refused || test.refused && !strings.Contains(err.Error(), "--etcd-servers: embedded stands alone") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestRestartKeepsThePort is about clients that have the port in their kubeconfig.
func TestRestartKeepsThePort(t *testing.T) {
	dir := t.TempDir()
	port := func(args ...string) int {
		return complete(t, append(args, "--data-dir", dir)...).Recommended.SecureServing.BindPort
	}
	if got := port("--standalone"); got != 7443 {
		t.Errorf("first start: %d", got)
	}
	pki, err := standalone.EnsurePKI(filepath.Join(dir, "pki"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := pki.WriteKubeconfig(filepath.Join(dir, "kubeconfig"), "127.0.0.1:12345"); err != nil {
		t.Fatal(err)
	}
	if got := port("--standalone"); got != 12345 {
		t.Errorf("restart: %d", got)
	}
	if got := port("--standalone", "--secure-port=23456"); got != 23456 {
		t.Errorf("restart on another port: %d", got)
	}
	if got := port("--standalone", "--secure-port=7443"); got != 7443 {
		t.Errorf("restart on the default port, asked for: %d", got)
	}
	if got := port(); got != 7443 {
		t.Errorf("on a hub: %d", got)
	}
}

func TestRuntimeConfig(t *testing.T) {
	const group = multicluster.GroupName
	tests := []struct {
		name, config       string
		v1alpha1, v1alpha2 bool
		refused            string
	}{
		{name: "default", v1alpha1: true, v1alpha2: true},
		{name: "one version off", config: group + "/v1alpha1=false", v1alpha2: true},
		{name: "everything off", config: "api/all=false", refused: "api/all=false"},
		{name: "both off", config: group + "/v1alpha1=false," + group + "/v1alpha2=false"},
		{name: "one back on", config: "api/all=false," + group + "/v1alpha1=true", v1alpha1: true},
		{name: "unknown group", config: "example.com/v1=true", refused: "example.com"},
		{name: "no boolean", config: group + "/v1alpha1=perhaps", refused: "perhaps"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := complete(t, "--runtime-config="+test.config)
			c := apiserver.NewGenericConfig()
			c.EffectiveVersion = o.registry.EffectiveVersionFor(version.Component)
			err := validate(t, o)
			if err == nil {
				err = o.Enablement.ApplyTo(&c.Config, apiserver.DefaultResources(), apiserver.Scheme)
			}
			if test.refused != "" {
				if err == nil || !strings.Contains(err.Error(), test.refused) {
					t.Errorf("error %v, want one that names %s", err, test.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for served, want := range map[string]bool{"v1alpha1": test.v1alpha1, "v1alpha2": test.v1alpha2} {
				resource := multicluster.SchemeGroupVersion.WithResource("clusterprofiles")
				resource.Version = served
				if got := c.MergedResourceConfig.ResourceEnabled(resource); got != want {
					t.Errorf("%s is served: %v, want %v", served, got, want)
				}
			}
		})
	}
}

func TestFeatureGates(t *testing.T) {
	o := complete(t, "--feature-gates=binnacle:CustomResourceErrors=false")
	if o.features.Enabled(features.CustomResourceErrors) {
		t.Error("the gate is still on")
	}
	if got := o.registry.EffectiveVersionFor(basecompatibility.DefaultKubeComponent); got == nil {
		t.Error("the version of the Kubernetes libraries is not registered")
	}
	for _, bad := range []string{"binnacle:Nonsense=true", "nobody:CustomResourceErrors=true"} {
		if err := parse(t, "--feature-gates="+bad).Complete(); err == nil {
			t.Errorf("--feature-gates=%s is accepted", bad)
		}
	}
}
