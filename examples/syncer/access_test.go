package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha2"
)

const providers = `{"providers": [
	{"name": "first", "execConfig": {"apiVersion": "client.authentication.k8s.io/v1", "command": "one", "args": ["-a"], "provideClusterInfo": true}},
	{"name": "second", "execConfig": {"apiVersion": "client.authentication.k8s.io/v1", "command": "two"}}]}`

func provided(t *testing.T, text string) (*members, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "providers.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return newMembers(file)
}

// access is an access provider that a ClusterProfile might have.
func access(name, server string) v1alpha2.AccessProvider {
	return v1alpha2.AccessProvider{Name: &name, Cluster: &v1alpha2.Cluster{Server: &server, InsecureSkipTLSVerify: true, TLSServerName: "inside", ProxyURL: "http://proxy:8080",
		Extensions: []v1alpha2.NamedExtension{
			{Name: ptr.To("client.authentication.k8s.io/exec"), Extension: runtime.RawExtension{Raw: []byte(`{"audience":"x"}`)}},
			{Name: ptr.To("clusterprofiles.multicluster.x-k8s.io/exec/additional-args"), Extension: runtime.RawExtension{Raw: []byte(`{"0":"--evil"}`)}},
		}}}
}

// TestConfig wants the file to say which program runs, and the ClusterProfile no more than where the cluster is.
func TestConfig(t *testing.T) {
	m, err := provided(t, providers)
	if err != nil {
		t.Fatal(err)
	}
	profile := &v1alpha2.ClusterProfile{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: v1alpha2.ClusterProfileStatus{
		AccessProviders: []v1alpha2.AccessProvider{access("other", "https://other"), access("second", "https://second"), access("first", "https://first")}}}
	config, err := m.config(profile)
	if err != nil {
		t.Fatal(err)
	}
	exec := config.ExecProvider
	if config.Host != "https://first" || config.ServerName != "inside" || config.Proxy == nil || config.Insecure {
		t.Errorf("a connection to %s as %q, insecure %t", config.Host, config.ServerName, config.Insecure)
	}
	if exec == nil || exec.Command != "one" || len(exec.Args) != 1 || !exec.ProvideClusterInfo || exec.InteractiveMode != clientcmdapi.NeverExecInteractiveMode {
		t.Fatalf("runs %+v", exec)
	}
	if extension, ok := exec.Config.(*runtime.Unknown); !ok || string(extension.Raw) != `{"audience":"x"}` {
		t.Errorf("the plugin is told %v", exec.Config)
	}
	profile.Status.AccessProviders = profile.Status.AccessProviders[:1]
	if _, err := m.config(profile); !errors.Is(err, errNoAccess) || reasonOf(err) != "NoAccess" {
		t.Errorf("without a plugin: %v", err)
	}
}

func TestProviderFile(t *testing.T) {
	for _, text := range []string{`{"provider": []}`, `[`, `{"providers": {"name": "first"}}`} {
		if _, err := provided(t, text); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

// TestConnectionIsKept wants one connection for a ClusterProfile as long as nobody writes it.
func TestConnectionIsKept(t *testing.T) {
	m, err := provided(t, providers)
	if err != nil {
		t.Fatal(err)
	}
	profile := &v1alpha2.ClusterProfile{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "1"}, Status: v1alpha2.ClusterProfileStatus{
		AccessProviders: []v1alpha2.AccessProvider{access("first", "https://first")}}}
	first, err := m.connect(profile)
	if err != nil {
		t.Fatal(err)
	}
	same, _ := m.connect(profile)
	profile.ResourceVersion = "2"
	other, _ := m.connect(profile)
	if first != same || first == other {
		t.Errorf("connections %p, %p and, after a write, %p", first, same, other)
	}
}
