package validation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
)

type profileCase struct {
	name   string
	change func(*multicluster.ClusterProfile)
	want   errors
}

// TestDeclaredRulesOfClusterProfile walks every field that has a rule in some version, at the limit and past it.
func TestDeclaredRulesOfClusterProfile(t *testing.T) {
	for _, tests := range [][]profileCase{specCases(), statusCases(), providerCases(), extensionCases()} {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				profile := fullProfile()
				test.change(profile)
				declared(t, profile, nil, "", test.want)
				// The status is validated by the same rules where it is written.
				declared(t, profile, fullProfile(), "status", test.want)
			})
		}
	}
}

func specCases() []profileCase {
	return []profileCase{
		{"good", func(*multicluster.ClusterProfile) {}, errors{}},
		{"display name is optional", func(p *multicluster.ClusterProfile) { p.Spec.DisplayName = "" }, errors{}},
		{"display name is unbounded", func(p *multicluster.ClusterProfile) { p.Spec.DisplayName = strings.Repeat("ü", 10000) }, errors{}},
	}
}

// TestDeclaredRulesOfClusterManagerName is about new profiles: on an old one the name is immutable.
func TestDeclaredRulesOfClusterManagerName(t *testing.T) {
	const manager = "spec.clusterManager.name"
	tests := []struct {
		name    string
		manager *string
		want    errors
	}{
		{"missing", nil, both("FieldValueRequired " + manager)},
		{"empty", ptr.To(""), strict("FieldValueTooShort " + manager)},
		{"one character", ptr.To("a"), errors{}},
		{"63 characters", ptr.To(strings.Repeat("a", 63)), errors{}},
		{"64 characters", ptr.To(strings.Repeat("a", 64)), strict("FieldValueTooLong "+manager, "FieldValueInvalid "+manager)},
		{"label value", ptr.To("Fleet_manager.1-b"), errors{}},
		{"space", ptr.To("fleet manager"), strict("FieldValueInvalid " + manager)},
		{"dash at the end", ptr.To("fleet-"), strict("FieldValueInvalid " + manager)},
		{"slash", ptr.To("example.com/fleet"), strict("FieldValueInvalid " + manager)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			profile := fullProfile()
			profile.Spec.ClusterManager.Name = test.manager
			declared(t, profile, nil, "", test.want)
		})
	}
}

func statusCases() []profileCase {
	property := func(change func(*multicluster.Property)) func(*multicluster.ClusterProfile) {
		return func(p *multicluster.ClusterProfile) { change(&p.Status.Properties[1]) }
	}
	observed := func(text string) func(*multicluster.ClusterProfile) {
		return property(func(p *multicluster.Property) { p.LastObservedTime = ptr.To(multicluster.Timestamp(text)) })
	}
	properties := func(n int) func(*multicluster.ClusterProfile) {
		return func(p *multicluster.ClusterProfile) {
			p.Status.Properties = nil
			for i := range n {
				p.Status.Properties = append(p.Status.Properties, multicluster.Property{Name: fmt.Sprint(i), Value: "x"})
			}
		}
	}
	const second = "status.properties[1]"
	return []profileCase{
		{"no status", func(p *multicluster.ClusterProfile) { p.Status = multicluster.ClusterProfileStatus{} }, errors{}},
		{"version is free text", func(p *multicluster.ClusterProfile) { p.Status.Version.Kubernetes = strings.Repeat("x", 5000) }, errors{}},
		{"conditions are validated", func(p *multicluster.ClusterProfile) {
			condition := goodCondition()
			condition.Reason = ""
			p.Status.Conditions = append(p.Status.Conditions, goodCondition(), condition)
			p.Status.Conditions[0].Type = "Joined"
		}, both("FieldValueInvalid status.conditions[1].reason")},
		{"condition type used twice", func(p *multicluster.ClusterProfile) {
			p.Status.Conditions = append(p.Status.Conditions, goodCondition(), goodCondition())
		}, both("FieldValueDuplicate status.conditions[1]")},

		{"property name missing", property(func(p *multicluster.Property) { p.Name = "" }), both("FieldValueRequired " + second + ".name")},
		{"property name of 253 two-byte characters", property(func(p *multicluster.Property) { p.Name = strings.Repeat("ü", 253) }), errors{}},
		{"property name of 254", property(func(p *multicluster.Property) { p.Name = strings.Repeat("a", 254) }), both("FieldValueTooLong " + second + ".name")},
		{"property name used twice", property(func(p *multicluster.Property) { p.Name = "location" }), both("FieldValueDuplicate " + second)},
		{"property value missing", property(func(p *multicluster.Property) { p.Value = "" }), both("FieldValueRequired " + second + ".value")},
		{"property value of 1024 two-byte characters", property(func(p *multicluster.Property) { p.Value = strings.Repeat("ü", 1024) }), errors{}},
		{"property value of 1025", property(func(p *multicluster.Property) { p.Value = strings.Repeat("a", 1025) }), both("FieldValueTooLong " + second + ".value")},
		{"observed time with fraction and offset", observed("2026-11-30T12:00:00.123456789+05:45"), errors{}},
		{"observed time is none", observed("yesterday"), both("FieldValueTypeInvalid " + second + ".lastObservedTime")},
		{"observed time is empty", observed(""), both("FieldValueTypeInvalid " + second + ".lastObservedTime")},
		{"1000 properties", properties(1000), errors{}},
		{"1001 properties", properties(1001), both("FieldValueTooMany status.properties")},
		{"one property 60000 times", func(p *multicluster.ClusterProfile) {
			p.Status.Properties = slices.Repeat([]multicluster.Property{{Name: "a", Value: "x"}}, 60_000)
		}, both("FieldValueTooMany status.properties")},
		{"1001 conditions", func(p *multicluster.ClusterProfile) {
			p.Status.Conditions = slices.Repeat([]metav1.Condition{{}}, 1001)
		}, both("FieldValueTooMany status.conditions")},
	}
}

func providerCases() []profileCase {
	const second = "status.accessProviders[1]"
	cluster := func(change func(*multicluster.Cluster)) func(*multicluster.ClusterProfile) {
		return func(p *multicluster.ClusterProfile) { change(p.Status.AccessProviders[1].Cluster) }
	}
	name := func(text *string) func(*multicluster.ClusterProfile) {
		return func(p *multicluster.ClusterProfile) { p.Status.AccessProviders[1].Name = text }
	}
	server := func(text *string) func(*multicluster.ClusterProfile) {
		return cluster(func(c *multicluster.Cluster) { c.Server = text })
	}
	proxy := func(text string) func(*multicluster.ClusterProfile) {
		return cluster(func(c *multicluster.Cluster) { c.ProxyURL = text })
	}
	providers := func(n int) func(*multicluster.ClusterProfile) {
		return func(p *multicluster.ClusterProfile) {
			p.Status.AccessProviders = nil
			for i := range n {
				p.Status.AccessProviders = append(p.Status.AccessProviders, fullProvider(fmt.Sprint(i)))
			}
		}
	}
	url := func(length int) string { return "https://" + strings.Repeat("a", length-len("https://")) }
	return []profileCase{
		{"64 providers", providers(64), errors{}},
		{"65 providers", providers(65), strict("FieldValueTooMany status.accessProviders")},
		{"1001 providers", providers(1001), both("FieldValueTooMany status.accessProviders")},
		{"provider name missing", name(nil), both("FieldValueRequired " + second + ".name")},
		{"provider name empty", name(ptr.To("")), strict("FieldValueTooShort " + second + ".name")},
		{"provider name of 253", name(ptr.To(strings.Repeat("ü", 253))), errors{}},
		{"provider name of 254", name(ptr.To(strings.Repeat("ü", 254))), strict("FieldValueTooLong " + second + ".name")},
		{"provider name used twice", name(ptr.To("kubeconfig")), both("FieldValueDuplicate " + second)},
		{"cluster missing", func(p *multicluster.ClusterProfile) { p.Status.AccessProviders[1].Cluster = nil }, strict("FieldValueRequired " + second + ".cluster")},
		{"server missing", server(nil), both("FieldValueRequired " + second + ".cluster.server")},
		{"server empty", server(ptr.To("")), strict("FieldValueInvalid " + second + ".cluster.server")},
		{"server is no URL", server(ptr.To("atlas")), strict("FieldValueInvalid " + second + ".cluster.server")},
		{"server of 2048", server(ptr.To(url(2048))), errors{}},
		{"server of 2049", server(ptr.To(url(2049))), strict("FieldValueTooLong " + second + ".cluster.server")},
		{"tls-server-name of 253", cluster(func(c *multicluster.Cluster) { c.TLSServerName = strings.Repeat("ü", 253) }), errors{}},
		{"tls-server-name of 254", cluster(func(c *multicluster.Cluster) { c.TLSServerName = strings.Repeat("ü", 254) }),
			strict("FieldValueTooLong " + second + ".cluster.tls-server-name")},
		{"proxy-url left out", proxy(""), errors{}},
		{"proxy-url of another scheme", proxy("ftp://proxy"), strict("FieldValueInvalid " + second + ".cluster.proxy-url")},
		{"proxy-url of 2048", proxy(url(2048)), errors{}},
		{"proxy-url of 2049", proxy(url(2049)), strict("FieldValueTooLong " + second + ".cluster.proxy-url")},
		{"CA data is any bytes", cluster(func(c *multicluster.Cluster) { c.CertificateAuthorityData = []byte{0, 255} }), errors{}},
		{"CA file, which v1alpha2 does not see", cluster(func(c *multicluster.Cluster) { c.CertificateAuthority = "/etc/ca.crt" }), errors{}},

		{"credential providers have the rules of v1alpha1", func(p *multicluster.ClusterProfile) {
			p.Status.CredentialProviders = []multicluster.AccessProvider{{}, {Name: ptr.To("a"), Cluster: &multicluster.Cluster{}}, {Name: ptr.To("a")}}
		}, errors{v1alpha1: []string{"FieldValueRequired status.credentialProviders[0].name",
			"FieldValueRequired status.credentialProviders[1].cluster.server", "FieldValueDuplicate status.credentialProviders[2]"}}},
	}
}

func extensionCases() []profileCase {
	const second = "status.accessProviders[1].cluster.extensions[1]"
	name := func(text *string) func(*multicluster.ClusterProfile) {
		return func(p *multicluster.ClusterProfile) { p.Status.AccessProviders[1].Cluster.Extensions[1].Name = text }
	}
	data := func(raw string) func(*multicluster.ClusterProfile) {
		return func(p *multicluster.ClusterProfile) {
			p.Status.AccessProviders[1].Cluster.Extensions[1].Extension = runtime.RawExtension{Raw: []byte(raw)}
		}
	}
	return []profileCase{
		{"extension name missing", name(nil), both("FieldValueRequired " + second + ".name")},
		{"extension name empty", name(ptr.To("")), strict("FieldValueTooShort " + second + ".name")},
		{"extension name of 253", name(ptr.To(strings.Repeat("ü", 253))), errors{}},
		{"extension name of 254", name(ptr.To(strings.Repeat("ü", 254))), strict("FieldValueTooLong " + second + ".name")},
		{"extension name used twice", name(ptr.To("client.authentication.k8s.io/exec")), strict("FieldValueDuplicate " + second)},
		{"1001 extensions", func(p *multicluster.ClusterProfile) {
			cluster := p.Status.AccessProviders[1].Cluster
			cluster.Extensions = slices.Repeat(cluster.Extensions[:1], 1001)
		}, strict("FieldValueTooMany status.accessProviders[1].cluster.extensions")},
		{"extension missing", data(""), both("FieldValueRequired " + second + ".extension")},
		{"extension is an array", data(`["--audience"]`), both("FieldValueTypeInvalid " + second + ".extension")},
	}
}
