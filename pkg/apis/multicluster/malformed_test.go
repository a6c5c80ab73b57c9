package multicluster

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// wholeProfile has something in every required field.
func wholeProfile() *ClusterProfile {
	provider := func() AccessProvider {
		return AccessProvider{Name: ptr.To("a"), Cluster: &Cluster{Server: ptr.To("https://a"), Extensions: []NamedExtension{
			{Name: ptr.To("e"), Extension: runtime.RawExtension{Raw: []byte("{}")}}}}}
	}
	return &ClusterProfile{
		Spec: ClusterProfileSpec{ClusterManager: ClusterManager{Name: ptr.To("m")}},
		Status: ClusterProfileStatus{
			Conditions: []metav1.Condition{{Type: "A", Status: "True", Reason: "R", Message: "m",
				LastTransitionTime: metav1.Date(2026, 11, 2, 6, 30, 0, 0, time.UTC)}},
			Properties:          []Property{{Name: "a", Value: "b"}},
			AccessProviders:     []AccessProvider{provider()},
			CredentialProviders: []AccessProvider{provider()},
		},
	}
}

// TestMayLackRequired empties each required field in turn: one that is forgotten here is one whose absence nobody notices.
func TestMayLackRequired(t *testing.T) {
	profiles := map[string]func(*ClusterProfile){
		"manager name":                func(p *ClusterProfile) { p.Spec.ClusterManager.Name = nil },
		"condition type":              func(p *ClusterProfile) { p.Status.Conditions[0].Type = "" },
		"condition status":            func(p *ClusterProfile) { p.Status.Conditions[0].Status = "" },
		"condition reason":            func(p *ClusterProfile) { p.Status.Conditions[0].Reason = "" },
		"condition message":           func(p *ClusterProfile) { p.Status.Conditions[0].Message = "" },
		"condition time":              func(p *ClusterProfile) { p.Status.Conditions[0].LastTransitionTime = metav1.Time{} },
		"property name":               func(p *ClusterProfile) { p.Status.Properties[0].Name = "" },
		"property value":              func(p *ClusterProfile) { p.Status.Properties[0].Value = "" },
		"provider name":               func(p *ClusterProfile) { p.Status.AccessProviders[0].Name = nil },
		"cluster":                     func(p *ClusterProfile) { p.Status.AccessProviders[0].Cluster = nil },
		"server":                      func(p *ClusterProfile) { p.Status.AccessProviders[0].Cluster.Server = nil },
		"extension name":              func(p *ClusterProfile) { p.Status.AccessProviders[0].Cluster.Extensions[0].Name = nil },
		"extension":                   func(p *ClusterProfile) { p.Status.AccessProviders[0].Cluster.Extensions[0].Extension.Raw = nil },
		"server of a credential":      func(p *ClusterProfile) { p.Status.CredentialProviders[0].Cluster.Server = nil },
		"CA data sent empty":          func(p *ClusterProfile) { p.Status.AccessProviders[0].Cluster.CertificateAuthorityData = []byte{} },
		"second of several providers": func(p *ClusterProfile) { p.Status.AccessProviders = append(p.Status.AccessProviders, AccessProvider{}) },
	}
	if wholeProfile().MayLackRequired() {
		t.Error("a whole profile may lack something")
	}
	bare := &ClusterProfile{Spec: ClusterProfileSpec{ClusterManager: ClusterManager{Name: ptr.To("m")}}}
	if bare.MayLackRequired() {
		t.Error("a profile without a status may lack something")
	}
	for name, empty := range profiles {
		t.Run(name, func(t *testing.T) {
			profile := wholeProfile()
			empty(profile)
			if !profile.MayLackRequired() {
				t.Error("not noticed")
			}
		})
	}
	decisions := map[string]struct {
		decision PlacementDecision
		lacks    bool
	}{
		"decisions missing": {PlacementDecision{}, true},
		"decisions empty":   {PlacementDecision{Decisions: ClusterDecisions{}}, false},
		"reference empty":   {PlacementDecision{Decisions: ClusterDecisions{{}}}, true},
		"whole":             {PlacementDecision{Decisions: ClusterDecisions{{ClusterProfileRef: ClusterProfileReference{Name: ptr.To("a")}}}}, false},
	}
	for name, test := range decisions {
		t.Run(name, func(t *testing.T) {
			if got := test.decision.MayLackRequired(); got != test.lacks {
				t.Errorf("%v, want %v", got, test.lacks)
			}
		})
	}
}

// TestMalformedIsCarriedByCopies is what admission hands on.
func TestMalformedIsCarriedByCopies(t *testing.T) {
	found := &Malformed{Errors: field.ErrorList{field.Required(field.NewPath("spec"), "")}}
	profile, decision := wholeProfile(), &PlacementDecision{}
	profile.SetMalformed(found)
	decision.SetMalformed(found)
	for name, got := range map[string]*Malformed{
		"profile": profile.GetMalformed(), "copy of a profile": profile.DeepCopy().GetMalformed(),
		"decision": decision.GetMalformed(), "copy of a decision": decision.DeepCopy().GetMalformed(),
	} {
		if got == nil || len(got.Errors) != 1 {
			t.Errorf("%s: %v", name, got)
		}
	}
	copied := Malformed{}
	found.DeepCopyInto(&copied)
	if len(copied.Errors) != 1 {
		t.Errorf("copy: %v", copied)
	}
}

func TestFieldLabelConversion(t *testing.T) {
	convert := FieldLabelConversion(SelectorSchedulerName)
	for _, label := range []string{"metadata.name", "metadata.namespace", "schedulerName"} {
		if gotLabel, value, err := convert(label, "x"); err != nil || gotLabel != label || value != "x" {
			t.Errorf("%s: %s, %s, %v", label, gotLabel, value, err)
		}
	}
	for _, label := range []string{"", "spec.clusterManager.name", "metadata.uid", "Metadata.name"} {
		if _, _, err := convert(label, "x"); err == nil {
			t.Errorf("%q is accepted", label)
		}
	}
}
