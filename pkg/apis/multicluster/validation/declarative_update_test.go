package validation_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
)

func TestDeclaredImmutability(t *testing.T) {
	const manager = "spec.clusterManager"
	with := func(name *string) *multicluster.ClusterProfile {
		profile := fullProfile()
		profile.Spec.ClusterManager.Name = name
		return profile
	}
	tests := []struct {
		name     string
		new, old *string
		want     errors
	}{
		{"same", ptr.To("a"), ptr.To("a"), errors{}},
		{"another", ptr.To("b"), ptr.To("a"), both("FieldValueInvalid " + manager)},
		{"removed", nil, ptr.To("a"), both("FieldValueInvalid "+manager, "FieldValueRequired "+manager+".name")},
		{"emptied", ptr.To(""), ptr.To("a"), errors{
			v1alpha1: []string{"FieldValueInvalid " + manager},
			v1alpha2: []string{"FieldValueInvalid " + manager, "FieldValueTooShort " + manager + ".name"},
		}},
		{"named at last", ptr.To("a"), ptr.To(""), both("FieldValueInvalid " + manager)},
		{"still empty, as v1alpha1 allowed", ptr.To(""), ptr.To(""), errors{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			declared(t, with(test.new), with(test.old), "", test.want)
		})
	}
	t.Run("display name may change", func(t *testing.T) {
		profile := fullProfile()
		profile.Spec.DisplayName = "Atlas"
		declared(t, profile, fullProfile(), "", errors{})
	})
}

// TestUnchangedBadValuesOfClusterProfile updates profiles that hold what v1alpha2, or nobody any more, accepts: whoever changes something
// else must not be refused for it.
func TestUnchangedBadValuesOfClusterProfile(t *testing.T) {
	tests := []struct {
		name string
		bad  func(*multicluster.ClusterProfile)
	}{
		{"manager name empty", func(p *multicluster.ClusterProfile) { p.Spec.ClusterManager.Name = ptr.To("") }},
		{"property value too long", func(p *multicluster.ClusterProfile) { p.Status.Properties[0].Value = strings.Repeat("a", 1025) }},
		{"observed time is none", func(p *multicluster.ClusterProfile) {
			p.Status.Properties[0].LastObservedTime = ptr.To(multicluster.Timestamp("yesterday"))
		}},
		{"condition without reason", func(p *multicluster.ClusterProfile) {
			condition := goodCondition()
			condition.Reason = ""
			p.Status.Conditions = append(p.Status.Conditions, condition)
		}},
		{"server empty", func(p *multicluster.ClusterProfile) { p.Status.AccessProviders[0].Cluster.Server = ptr.To("") }},
		{"cluster missing", func(p *multicluster.ClusterProfile) { p.Status.AccessProviders[0].Cluster = nil }},
		{"provider name empty", func(p *multicluster.ClusterProfile) { p.Status.AccessProviders[0].Name = ptr.To("") }},
		{"proxy of another scheme", func(p *multicluster.ClusterProfile) { p.Status.AccessProviders[0].Cluster.ProxyURL = "ftp://proxy" }},
		{"extension is an array", func(p *multicluster.ClusterProfile) {
			p.Status.AccessProviders[0].Cluster.Extensions[0].Extension = runtime.RawExtension{Raw: []byte("[]")}
		}},
		{"extension name used twice", func(p *multicluster.ClusterProfile) {
			p.Status.AccessProviders[0].Cluster.Extensions[1].Name = p.Status.AccessProviders[0].Cluster.Extensions[0].Name
		}},
	}
	changes := map[string]func(*multicluster.ClusterProfile){
		"label":            func(p *multicluster.ClusterProfile) { p.Labels = map[string]string{"a": "b"} },
		"display name":     func(p *multicluster.ClusterProfile) { p.Spec.DisplayName = "Atlas" },
		"another property": func(p *multicluster.ClusterProfile) { p.Status.Properties[1].Value = "16" },
		"another provider": func(p *multicluster.ClusterProfile) { p.Status.AccessProviders[1].Cluster.DisableCompression = true },
		"one more provider": func(p *multicluster.ClusterProfile) {
			p.Status.AccessProviders = append(p.Status.AccessProviders, fullProvider("x"))
		},
		"order of providers": func(p *multicluster.ClusterProfile) {
			a := p.Status.AccessProviders
			a[0], a[1] = a[1], a[0]
		},
	}
	for _, test := range tests {
		for name, change := range changes {
			t.Run(test.name+"/"+name, func(t *testing.T) {
				old := fullProfile()
				test.bad(old)
				profile := old.DeepCopy()
				change(profile)
				declared(t, profile, old, "", errors{})
				declared(t, profile, old, "status", errors{})
			})
		}
	}
}

// TestChangedBadValues shows that the tests of unchanged ones could fail.
func TestChangedBadValues(t *testing.T) {
	old := fullProfile()
	old.Status.AccessProviders[1].Cluster.Server = ptr.To("")
	profile := old.DeepCopy()
	profile.Status.AccessProviders[1].Cluster.Server = ptr.To("worse")
	declared(t, profile, old, "status", strict("FieldValueInvalid status.accessProviders[1].cluster.server"))
	tooMany := old.DeepCopy()
	for range 62 {
		tooMany.Status.AccessProviders = append(tooMany.Status.AccessProviders, fullProvider(strings.Repeat("x", len(tooMany.Status.AccessProviders))))
	}
	more := tooMany.DeepCopy()
	more.Status.AccessProviders = append(more.Status.AccessProviders, fullProvider("one-more"))
	declared(t, more, tooMany, "status", strict("FieldValueTooMany status.accessProviders"))
}

// TestUnchangedBadValuesOfPlacementDecision is the same for decisions.
func TestUnchangedBadValuesOfPlacementDecision(t *testing.T) {
	tests := []struct {
		name string
		bad  func(*multicluster.PlacementDecision)
	}{
		{"decisions missing", func(d *multicluster.PlacementDecision) { d.Decisions = nil }},
		{"101 decisions", func(d *multicluster.PlacementDecision) { d.Decisions = fullDecision(101).Decisions }},
		{"name empty", func(d *multicluster.PlacementDecision) { d.Decisions[0].ClusterProfileRef.Name = ptr.To("") }},
		{"namespace empty", func(d *multicluster.PlacementDecision) { d.Decisions[0].ClusterProfileRef.Namespace = ptr.To("") }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			old := fullDecision(2)
			test.bad(old)
			decision := old.DeepCopy()
			decision.Labels = map[string]string{"a": "b"}
			decision.SchedulerName = "other"
			want := errors{}
			if test.name == "decisions missing" {
				// Nobody could ever store that.
				want = both("FieldValueRequired decisions")
			}
			declared(t, decision, old, "", want)
		})
	}
	// The list is atomic: as for a custom resource, its items have no identity by which an old one could be known again.
	t.Run("another cluster added beside a bad name", func(t *testing.T) {
		old := fullDecision(1)
		old.Decisions[0].ClusterProfileRef.Name = ptr.To("")
		decision := old.DeepCopy()
		decision.Decisions = append(decision.Decisions, fullDecision(1).Decisions...)
		declared(t, decision, old, "", strict("FieldValueInvalid decisions[0].clusterProfileRef.name"))
	})
}
