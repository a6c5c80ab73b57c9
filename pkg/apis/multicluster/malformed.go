package multicluster

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// +k8s:deepcopy-gen=false

// Malformed carries what a decoder found wrong with a body that the Go types cannot hold (a number where text belongs, text that is
// not base64) or cannot tell apart (an absent required field and an empty one). The registry answers it as 422 with field paths, as
// kube-apiserver does for a custom resource.
type Malformed struct {
	// Errors are the findings, never empty.
	Errors field.ErrorList
}

// DeepCopy returns the same Malformed: it does not change once it is made.
func (m *Malformed) DeepCopy() *Malformed { return m }

// DeepCopyInto copies m.
func (m *Malformed) DeepCopyInto(out *Malformed) { *out = *m }

// GetMalformed returns what the decoder found wrong, nil for a well-formed body.
func (p *ClusterProfile) GetMalformed() *Malformed { return p.Malformed }

// SetMalformed records what the decoder found wrong.
func (p *ClusterProfile) SetMalformed(m *Malformed) { p.Malformed = m }

// GetMalformed returns what the decoder found wrong, nil for a well-formed body.
func (d *PlacementDecision) GetMalformed() *Malformed { return d.Malformed }

// SetMalformed records what the decoder found wrong.
func (d *PlacementDecision) SetMalformed(m *Malformed) { d.Malformed = m }

// MayLackRequired says whether a decoded object has the zero value in a required field, so that only the body tells whether the writer
// left the field out or left it empty.
func (p *ClusterProfile) MayLackRequired() bool {
	status := &p.Status
	return p.Spec.ClusterManager.Name == nil ||
		slices.ContainsFunc(status.Conditions, conditionMayLackRequired) ||
		slices.ContainsFunc(status.Properties, func(p Property) bool { return p.Name == "" || p.Value == "" }) ||
		slices.ContainsFunc(status.AccessProviders, accessMayLackRequired) ||
		slices.ContainsFunc(status.CredentialProviders, accessMayLackRequired)
}

// MayLackRequired is as for a ClusterProfile.
func (d *PlacementDecision) MayLackRequired() bool {
	return d.Decisions == nil || slices.ContainsFunc(d.Decisions, func(c ClusterDecision) bool { return c.ClusterProfileRef.Name == nil })
}

func conditionMayLackRequired(c metav1.Condition) bool {
	return c.Type == "" || c.Status == "" || c.Reason == "" || c.Message == "" || c.LastTransitionTime.IsZero()
}

func accessMayLackRequired(a AccessProvider) bool {
	if a.Name == nil || a.Cluster == nil || a.Cluster.Server == nil {
		return true
	}
	return slices.ContainsFunc(a.Cluster.Extensions, func(e NamedExtension) bool { return e.Name == nil || len(e.Extension.Raw) == 0 })
}
