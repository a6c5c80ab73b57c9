package app

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	basecompatibility "k8s.io/component-base/compatibility"

	"github.com/binnacle-dev/binnacle/pkg/apiserver"
)

func TestStandaloneHost(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"default", nil, "127.0.0.1"},
		{"every address", []string{"--bind-address=0.0.0.0"}, "127.0.0.1"},
		{"every IPv6 address", []string{"--bind-address=::"}, "127.0.0.1"},
		{"one address", []string{"--bind-address=203.0.113.7"}, "203.0.113.7"},
		{"one IPv6 address", []string{"--bind-address=2001:db8::1"}, "2001:db8::1"},
		{"name", []string{"--external-hostname=binnacle.example.com", "--bind-address=203.0.113.7"}, "binnacle.example.com"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := complete(t, test.args...).standaloneHost(); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// hub is one that serves kinds of admission.
func hub(kinds ...string) *fake.Clientset {
	client := fake.NewClientset()
	list := &metav1.APIResourceList{GroupVersion: "admissionregistration.k8s.io/v1"}
	for _, kind := range kinds {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: kind})
	}
	client.Resources = append(client.Resources, list)
	return client
}

var (
	oldKinds = []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations", "validatingadmissionpolicies", "validatingadmissionpolicybindings"}
	allKinds = append([]string{"mutatingadmissionpolicies", "mutatingadmissionpolicybindings"}, oldKinds...)
)

func TestPluginsFollowTheHub(t *testing.T) {
	all := []string{"NamespaceLifecycle", "MutatingAdmissionPolicy", "MutatingAdmissionWebhook", "ValidatingAdmissionPolicy", "ValidatingAdmissionWebhook", "ResourceQuota"}
	without := func(names ...string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(names, name) })
	}
	tests := []struct {
		name    string
		args    []string
		kinds   []string
		want    []string
		refused string
	}{
		{name: "a current hub", kinds: allKinds, want: all},
		{name: "an older hub", kinds: oldKinds, want: without("MutatingAdmissionPolicy")},
		{name: "an older hub, and the plugin asked for", kinds: oldKinds, args: []string{"--enable-admission-plugins=MutatingAdmissionPolicy"},
			refused: "--enable-admission-plugins: MutatingAdmissionPolicy needs kinds that this hub does not serve"},
		{name: "an older hub, and the plugin disabled already", kinds: oldKinds, args: []string{"--disable-admission-plugins=MutatingAdmissionPolicy"},
			want: without("MutatingAdmissionPolicy")},
		{name: "plugins disabled", kinds: allKinds, args: []string{"--disable-admission-plugins=NamespaceLifecycle,MutatingAdmissionWebhook,ResourceQuota"},
			want: without("NamespaceLifecycle", "MutatingAdmissionWebhook", "ResourceQuota")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := complete(t, test.args...)
			err := o.goWithout(hub(test.kinds...))
			if test.refused != "" {
				if err == nil || err.Error() != test.refused {
					t.Errorf("error %v, want %s", err, test.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, o.enabledPlugins()); diff != "" {
				t.Errorf("plugins (-want +got):\n%s", diff)
			}
			if err := validate(t, o); err != nil {
				t.Errorf("what is left is refused: %v", err)
			}
			// Nobody counts a plugin twice when the options are printed or applied.
			disabled := slices.Clone(o.Recommended.Admission.DisablePlugins)
			slices.Sort(disabled)
			if len(slices.Compact(slices.Clone(disabled))) != len(disabled) {
				t.Errorf("disabled %v", disabled)
			}
		})
	}
	t.Run("no hub", func(t *testing.T) {
		if err := complete(t).goWithout(fake.NewClientset()); err == nil {
			t.Error("a hub that does not answer is one without kinds")
		}
	})
}

func TestHubIsNamedWhereItCannotBeReached(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	_, _, err := complete(t).hubClient()
	if err == nil || !strings.Contains(err.Error(), "--kubeconfig") || !strings.Contains(err.Error(), "--standalone") {
		t.Errorf("error %v does not say what to do", err)
	}
	if _, _, err := complete(t, "--kubeconfig=/nonexistent").hubClient(); err == nil || !strings.Contains(err.Error(), "/nonexistent") {
		t.Errorf("error %v does not name the file", err)
	}
}

// TestConfigIsApplied looks for the marks that each group of options leaves, in the order in which they need each other.
func TestConfigIsApplied(t *testing.T) {
	o := complete(t, "--standalone", "--data-dir", t.TempDir(), "--secure-port=0", "--etcd-servers=http://127.0.0.1:1", "--max-requests-inflight=77",
		"--runtime-config=multicluster.x-k8s.io/v1alpha1=false", "--etcd-prefix=/elsewhere", "--profiling=false")
	c, err := o.newConfig()
	if err != nil {
		t.Fatal(err)
	}
	if c.MaxRequestsInFlight != 77 || c.EnableProfiling {
		t.Errorf("in flight %d, profiling %v", c.MaxRequestsInFlight, c.EnableProfiling)
	}
	if c.MergedResourceConfig.AnyResourceForGroupEnabled("multicluster.x-k8s.io") == false {
		t.Error("nothing is served")
	}
	if c.FeatureGate != o.registry.FeatureGateFor(basecompatibility.DefaultKubeComponent) {
		t.Error("the generic server asks the wrong feature gates")
	}
	if c.OpenAPIV3Config == nil || c.EffectiveVersion == nil {
		t.Error("no OpenAPI documents, or no version")
	}
	options, err := c.RESTOptionsGetter.GetRESTOptions(apiserverResource, nil)
	if err != nil {
		t.Fatal(err)
	}
	if options.StorageConfig.Prefix != "/elsewhere" || options.StorageConfig.Transport.ServerList[0] != "http://127.0.0.1:1" {
		t.Errorf("storage %+v", options.StorageConfig.Config)
	}
	names := map[string]int{}
	for _, check := range c.HealthzChecks {
		names[check.Name()]++
	}
	if names["etcd"] != 1 {
		t.Errorf("health checks %v, want one of etcd", names)
	}
	if apiserver.EtcdPrefix == "/elsewhere" {
		t.Error("the prefix of the test is the default")
	}
}

// TestWhoTellsWhomToTrust is about waiting for the hub's CAs, which must not be waited for where files name them.
func TestWhoTellsWhomToTrust(t *testing.T) {
	tests := []struct {
		args []string
		want bool
	}{
		{nil, true},
		{[]string{"--requestheader-allowed-names=front-proxy"}, true},
		{[]string{"--client-ca-file=a"}, false},
		{[]string{"--requestheader-client-ca-file=a"}, false},
		{[]string{"--authentication-skip-lookup"}, false},
		{[]string{"--authentication-tolerate-lookup-failure"}, false},
	}
	for _, test := range tests {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			if got := complete(t, test.args...).looksUpHubIdentity(); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}
