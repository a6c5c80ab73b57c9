// Command record writes the JSON that the upstream v1alpha1 typed client sends for a set of objects, one file each.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"
	"sigs.k8s.io/cluster-inventory-api/client/clientset/versioned/scheme"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: record FOLDER")
		os.Exit(2)
	}
	if err := record(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func record(folder string) error {
	for name, obj := range objects() {
		wire, err := encode(obj)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		readable, err := indent(wire)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(folder, name+".v1alpha1.json"), readable, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// encode is what the generated client does with a request body.
func encode(obj runtime.Object) ([]byte, error) {
	codecs := rest.CodecFactoryForGeneratedClient(scheme.Scheme, scheme.Codecs).WithoutConversion()
	info, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	if !ok {
		return nil, fmt.Errorf("no JSON serializer")
	}
	return runtime.Encode(codecs.EncoderForVersion(info.Serializer, v1alpha1.GroupVersion), obj)
}

// indent adds only white space between tokens, so that json.Compact gives the wire bytes back.
func indent(wire []byte) ([]byte, error) {
	wire = bytes.TrimSuffix(wire, []byte("\n"))
	var readable, back bytes.Buffer
	if err := json.Indent(&readable, wire, "", "  "); err != nil {
		return nil, err
	}
	if err := json.Compact(&back, readable.Bytes()); err != nil {
		return nil, err
	}
	if !bytes.Equal(back.Bytes(), wire) {
		return nil, fmt.Errorf("indentation is not reversible")
	}
	readable.WriteByte('\n')
	return readable.Bytes(), nil
}

func objects() map[string]runtime.Object {
	return map[string]runtime.Object{
		"clusterprofile_zero":             &v1alpha1.ClusterProfile{},
		"clusterprofile_full":             fullProfile(),
		"clusterprofile_nil_conditions":   profile(v1alpha1.ClusterProfileStatus{Version: v1alpha1.ClusterVersion{Kubernetes: "v1.36.4"}}),
		"clusterprofile_empty_conditions": profile(v1alpha1.ClusterProfileStatus{Conditions: []metav1.Condition{}}),
		"clusterprofile_empty_lists":      profile(emptyLists()),
		"clusterprofile_zero_items":       profile(zeroItems()),
		"clusterprofile_extension_shapes": profile(extensionShapes()),
		"clusterprofile_times":            profile(times()),
		"clusterprofilelist_zero":         &v1alpha1.ClusterProfileList{},
		"clusterprofilelist_empty":        &v1alpha1.ClusterProfileList{ListMeta: metav1.ListMeta{ResourceVersion: "811"}, Items: []v1alpha1.ClusterProfile{}},
		"clusterprofilelist_full": &v1alpha1.ClusterProfileList{
			ListMeta: listMeta(),
			Items:    []v1alpha1.ClusterProfile{*profile(v1alpha1.ClusterProfileStatus{}), *fullProfile()},
		},
		"placementdecision_zero":      &v1alpha1.PlacementDecision{},
		"placementdecision_nil":       decision(nil),
		"placementdecision_empty":     decision([]v1alpha1.ClusterDecision{}),
		"placementdecision_zero_item": decision([]v1alpha1.ClusterDecision{{}}),
		"placementdecision_full":      fullDecision(),
		"placementdecision_100":       decision(many(100)),
		"placementdecisionlist_zero":  &v1alpha1.PlacementDecisionList{},
		"placementdecisionlist_empty": &v1alpha1.PlacementDecisionList{ListMeta: metav1.ListMeta{ResourceVersion: "811"}, Items: []v1alpha1.PlacementDecision{}},
		"placementdecisionlist_full":  &v1alpha1.PlacementDecisionList{ListMeta: listMeta(), Items: []v1alpha1.PlacementDecision{*decision([]v1alpha1.ClusterDecision{}), *fullDecision()}},
	}
}

func profile(status v1alpha1.ClusterProfileStatus) *v1alpha1.ClusterProfile {
	return &v1alpha1.ClusterProfile{
		ObjectMeta: metav1.ObjectMeta{Name: "atlas", Namespace: "fleet-prod"},
		Spec:       v1alpha1.ClusterProfileSpec{ClusterManager: v1alpha1.ClusterManager{Name: "fleet-manager"}},
		Status:     status,
	}
}

// fullProfile sets every field of the kind, and every field of ObjectMeta that a server may answer with.
func fullProfile() *v1alpha1.ClusterProfile {
	p := profile(v1alpha1.ClusterProfileStatus{
		Conditions: []metav1.Condition{{
			Type: v1alpha1.ClusterConditionControlPlaneHealthy, Status: metav1.ConditionTrue, ObservedGeneration: 3,
			LastTransitionTime: at(2026, 11, 2, 6, 30, 0), Reason: "AllChecksPassed", Message: "etcd, scheduler & controller-manager answer",
		}, {
			Type: "Joined", Status: metav1.ConditionUnknown,
			LastTransitionTime: at(2026, 11, 2, 6, 31, 5), Reason: "Waiting", Message: "",
		}},
		Version: v1alpha1.ClusterVersion{Kubernetes: "v1.36.4+k3s1"},
		Properties: []v1alpha1.Property{
			{Name: "cluster.clusterset.k8s.io", Value: "7c1d3c5e-1f0e-4b7a-9c53-0b7f6f0f7a11", LastObservedTime: at(2026, 11, 2, 6, 30, 0)},
			{Name: "location", Value: "Zürich <rack 4> — 北", LastObservedTime: at(2026, 11, 2, 6, 29, 59)},
		},
		CredentialProviders: []v1alpha1.CredentialProvider{{Name: "secretreader", Cluster: cluster("https://atlas.legacy.example.com:6443")}},
		AccessProviders: []v1alpha1.AccessProvider{
			{Name: "secretreader", Cluster: cluster("https://atlas.example.com:6443")},
			{Name: "spire-agent", Cluster: clientcmdv1.Cluster{Server: "https://atlas.example.com:6443"}},
		},
	})
	p.ObjectMeta = fullMeta("atlas")
	p.Spec.DisplayName = `Atlas "R&D" <Zürich>`
	return p
}

func cluster(server string) clientcmdv1.Cluster {
	return clientcmdv1.Cluster{
		Server:                   server,
		TLSServerName:            "kubernetes.atlas.example.com",
		InsecureSkipTLSVerify:    true,
		CertificateAuthority:     "ca.crt",
		CertificateAuthorityData: []byte("-----BEGIN CERTIFICATE-----\nbm90IGEgY2VydGlmaWNhdGU=\n-----END CERTIFICATE-----\n"),
		ProxyURL:                 "socks5://proxy.example.com:1080",
		DisableCompression:       true,
		Extensions: []clientcmdv1.NamedExtension{
			{Name: "client.authentication.k8s.io/exec", Extension: raw(`{"clusterName": "atlas", "audience": ["a", "b"], "depth": {"n": 1, "f": 1.50, "none": null}, "html": "<&>"}`)},
			{Name: "teams.example.com/owner", Extension: raw(`{}`)},
		},
	}
}

func emptyLists() v1alpha1.ClusterProfileStatus {
	return v1alpha1.ClusterProfileStatus{
		Conditions:          []metav1.Condition{},
		Properties:          []v1alpha1.Property{},
		CredentialProviders: []v1alpha1.CredentialProvider{},
		AccessProviders:     []v1alpha1.AccessProvider{},
	}
}

// zeroItems shows what a zero value inside each list becomes.
func zeroItems() v1alpha1.ClusterProfileStatus {
	return v1alpha1.ClusterProfileStatus{
		Conditions:          []metav1.Condition{{}},
		Properties:          []v1alpha1.Property{{}},
		CredentialProviders: []v1alpha1.CredentialProvider{{}},
		AccessProviders:     []v1alpha1.AccessProvider{{}, {Cluster: clientcmdv1.Cluster{Extensions: []clientcmdv1.NamedExtension{{}}}}},
	}
}

func extensionShapes() v1alpha1.ClusterProfileStatus {
	return v1alpha1.ClusterProfileStatus{AccessProviders: []v1alpha1.AccessProvider{{
		Name: "secretreader",
		Cluster: clientcmdv1.Cluster{Server: "https://atlas.example.com:6443", Extensions: []clientcmdv1.NamedExtension{
			{Name: "object", Extension: raw(`{"b": 1, "a": 2}`)},
			{Name: "array", Extension: raw(`["--audience", "atlas"]`)},
			{Name: "string", Extension: raw(`"plain"`)},
			{Name: "number", Extension: raw(`10000000000000000001`)},
			{Name: "null", Extension: raw(`null`)},
			{Name: "missing"},
			{Name: "object", Extension: raw(`{"same": "name twice"}`)},
		}},
	}}}
}

// times shows that a fraction is cut and an offset is turned into UTC.
func times() v1alpha1.ClusterProfileStatus {
	east := time.FixedZone("", 5*3600+45*60)
	t := metav1.NewTime(time.Date(2026, 11, 2, 6, 30, 15, 999_999_999, east))
	return v1alpha1.ClusterProfileStatus{
		Conditions: []metav1.Condition{{Type: "Joined", Status: metav1.ConditionTrue, Reason: "Joined", Message: "", LastTransitionTime: t}},
		Properties: []v1alpha1.Property{
			{Name: "with-offset", Value: "1", LastObservedTime: t},
			{Name: "without", Value: "2"},
			{Name: "epoch", Value: "3", LastObservedTime: metav1.Unix(0, 0)},
		},
	}
}

func decision(list []v1alpha1.ClusterDecision) *v1alpha1.PlacementDecision {
	return &v1alpha1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Name: "payments-0", Namespace: "fleet-prod"}, Decisions: list}
}

func fullDecision() *v1alpha1.PlacementDecision {
	d := decision([]v1alpha1.ClusterDecision{
		{ClusterProfileRef: v1alpha1.ClusterProfileReference{Name: "atlas", Namespace: "fleet-prod"}, Reason: "score 91 > 80 & in region"},
		{ClusterProfileRef: v1alpha1.ClusterProfileReference{Name: "borealis"}},
		{ClusterProfileRef: v1alpha1.ClusterProfileReference{Name: "atlas", Namespace: "fleet-prod"}, Reason: "named twice"},
	})
	d.ObjectMeta = fullMeta("payments-0")
	d.Labels = map[string]string{
		v1alpha1.DecisionKeyLabel:   "payments",
		v1alpha1.DecisionIndexLabel: "0",
		v1alpha1.PlacementKeyLabel:  "payments-api",
	}
	d.SchedulerName = "fleet-scheduler"
	return d
}

func many(n int) []v1alpha1.ClusterDecision {
	var list []v1alpha1.ClusterDecision
	for i := range n {
		list = append(list, v1alpha1.ClusterDecision{ClusterProfileRef: v1alpha1.ClusterProfileReference{Name: fmt.Sprintf("store-%04d", i)}})
	}
	return list
}

func fullMeta(name string) metav1.ObjectMeta {
	grace, controller := int64(30), true
	created, deleted := at(2026, 10, 1, 8, 0, 0), at(2026, 11, 3, 8, 0, 0)
	return metav1.ObjectMeta{
		Name: name, GenerateName: "at", Namespace: "fleet-prod",
		UID: "0a8f1f3e-5d0c-4d5e-8f0b-2f1d3c4b5a69", ResourceVersion: "4711", Generation: 3, SelfLink: "/old",
		CreationTimestamp: created, DeletionTimestamp: &deleted, DeletionGracePeriodSeconds: &grace,
		Labels:          map[string]string{"x-k8s.io/cluster-manager": "fleet-manager", "env": "prod"},
		Annotations:     map[string]string{"example.com/ticket": "OPS-1 <b>"},
		Finalizers:      []string{"example.com/drain"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "inventory", UID: "6f1c8a0e-9a3e-4e57-9f34-7f0a3d7a2b10", Controller: &controller, BlockOwnerDeletion: &controller}},
		ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: "fleet-manager", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "multicluster.x-k8s.io/v1alpha1", Time: &created,
			FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:metadata":{"f:labels":{}}}`)}, Subresource: "status",
		}},
	}
}

func listMeta() metav1.ListMeta {
	left := int64(4)
	return metav1.ListMeta{ResourceVersion: "4711", Continue: "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ", RemainingItemCount: &left}
}

func at(year int, month time.Month, day, hour, minute, second int) metav1.Time {
	return metav1.Date(year, month, day, hour, minute, second, 0, time.UTC)
}

func raw(s string) runtime.RawExtension { return runtime.RawExtension{Raw: []byte(s)} }
