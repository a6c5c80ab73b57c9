package examples

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha2"
	"github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned"
)

// patience is for what a loaded machine makes late. Nothing waits for so long that works.
const patience = 2 * time.Minute

// providerFile is the syncer's configuration: one plugin, which prints the token of the member that a ClusterProfile names.
var providerFile string

// writeAccess writes the plugin and what it prints.
func writeAccess(ctx context.Context, dir string) error {
	for i, member := range members {
		config, err := member.ServiceAccountConfig(ctx, "default", "syncer")
		if err != nil {
			return err
		}
		credential := fmt.Sprintf(`{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": %q}}`, config.BearerToken)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("member-%d.json", i)), []byte(credential), 0o600); err != nil {
			return err
		}
	}
	plugin := filepath.Join(dir, "plugin.sh")
	script := fmt.Sprintf("#!/bin/sh\nname=${KUBERNETES_EXEC_INFO##*'\"member\":\"'}\nexec cat '%s'/\"${name%%%%\\\"*}\".json\n", dir)
	if err := os.WriteFile(plugin, []byte(script), 0o700); err != nil {
		return err
	}
	file, err := json.Marshal(map[string]any{"providers": []any{map[string]any{"name": "token", "execConfig": map[string]any{
		"apiVersion": "client.authentication.k8s.io/v1", "command": plugin, "provideClusterInfo": true}}}})
	if err != nil {
		return err
	}
	providerFile = filepath.Join(dir, "providers.json")
	return os.WriteFile(providerFile, file, 0o600)
}

// fleet is a namespace on the hub with clusters. Each is a namespace of a member.
type fleet struct {
	t         *testing.T
	namespace string
	hub       versioned.Interface
	clusters  []string
}

func newFleet(t *testing.T, namespace string, clusters int) *fleet {
	t.Helper()
	f := &fleet{t: t, namespace: namespace, hub: versioned.NewForConfigOrDie(hub.AdminConfig())}
	makeNamespace(t, kubernetes.NewForConfigOrDie(hub.AdminConfig()), namespace)
	for i := range clusters {
		f.clusters = append(f.clusters, fmt.Sprintf("%s-%02d", namespace, i))
		f.register(i)
		makeNamespace(t, f.member(i), f.clusters[i])
	}
	return f
}

// member is the administrator of the member that a cluster is on.
func (f *fleet) member(i int) kubernetes.Interface {
	return kubernetes.NewForConfigOrDie(members[i%len(members)].AdminConfig())
}

// register writes the ClusterProfile of a cluster: how it is reached, and that the plugin has the token.
func (f *fleet) register(i int) {
	f.t.Helper()
	profiles := f.hub.MulticlusterV1alpha2().ClusterProfiles(f.namespace)
	profile, err := profiles.Create(f.t.Context(), &v1alpha2.ClusterProfile{ObjectMeta: metav1.ObjectMeta{Name: f.clusters[i], Labels: map[string]string{"env": "prod"}},
		Spec: v1alpha2.ClusterProfileSpec{ClusterManager: v1alpha2.ClusterManager{Name: ptr.To("test")}}}, metav1.CreateOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	on := members[i%len(members)]
	profile.Status.AccessProviders = []v1alpha2.AccessProvider{{Name: ptr.To("token"), Cluster: &v1alpha2.Cluster{
		Server: ptr.To(on.URL()), CertificateAuthorityData: on.ServingCA.PEM(),
		Extensions: []v1alpha2.NamedExtension{{Name: ptr.To("client.authentication.k8s.io/exec"),
			Extension: runtime.RawExtension{Raw: fmt.Appendf(nil, `{"member":"member-%d"}`, i%len(members))}}},
	}}}
	if _, err := profiles.UpdateStatus(f.t.Context(), profile, metav1.UpdateOptions{}); err != nil {
		f.t.Fatal(err)
	}
}

// report reports for a cluster, for as long as the test runs.
func (f *fleet) report(i int, gpus string) {
	f.t.Helper()
	report := &v1alpha1.ClusterReport{Spec: v1alpha1.ClusterReportSpec{IntervalSeconds: ptr.To[int32](600), Nodes: &v1alpha1.NodeCounts{Total: 1, Ready: 1}}}
	if gpus != "" {
		amounts := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(gpus)}
		report.Spec.Resources = &v1alpha1.ClusterResources{Available: amounts}
	}
	// The client waits by itself where the server says that it is too soon.
	if _, err := f.hub.BinnacleV1alpha1().ClusterStatuses(f.namespace).Report(f.t.Context(), f.clusters[i], report, metav1.CreateOptions{}); err != nil {
		f.t.Fatal(err)
	}
}

// having are the clusters on which the manifest is, as their own API servers say.
func (f *fleet) having() []string {
	f.t.Helper()
	var found []string
	for i := range members {
		list, err := f.member(i).CoreV1().ConfigMaps("").List(f.t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=app"})
		if err != nil {
			f.t.Fatal(err)
		}
		for _, item := range list.Items {
			if strings.HasPrefix(item.Namespace, f.namespace+"-") {
				found = append(found, item.Namespace)
			}
		}
	}
	slices.Sort(found)
	return found
}

// awaitOn waits until the manifest is on these clusters and no others.
func (f *fleet) awaitOn(what string, want []string) {
	f.t.Helper()
	var got []string
	within(f.t, what, func() bool {
		got = f.having()
		return slices.Equal(got, want)
	}, func() any { return fmt.Sprintf("on %v, want %v", got, want) })
}

func makeNamespace(t *testing.T, on kubernetes.Interface, name string) {
	t.Helper()
	if _, err := on.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// within waits for a condition. last is what there was instead.
func within(t *testing.T, what string, met func() bool, last func() any) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !met() {
		select {
		case <-deadline:
			t.Fatalf("%s does not come within %s; last: %+v", what, patience, last())
		case <-tick.C:
		}
	}
}
