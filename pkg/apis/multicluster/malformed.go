package multicluster

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// +k8s:deepcopy-gen=false

// Malformed carries what a decoder found wrong with a body that the Go types cannot hold (a number where text belongs, text that is
// not base64) or cannot tell apart (an absent required field and an empty one). The registry answers it as 422 with field paths, as
// kube-apiserver does for a custom resource.
type Malformed struct {
	// Errors are the findings, never empty.
	Errors field.ErrorList
	// FindIn looks for the same in a stored object, as the client would see it. What it finds there too is not the fault of this write,
	// which leaves it as it was; nil where nothing of that kind can be stored.
	FindIn func(stored runtime.Object) field.ErrorList
}

// NewIn returns the findings that a stored object does not have already, nil where it has them all.
func (m *Malformed) NewIn(stored runtime.Object) field.ErrorList {
	if m.FindIn == nil || stored == nil {
		return m.Errors
	}
	var found field.ErrorList
	before := m.FindIn(stored)
	for _, err := range m.Errors {
		if !slices.ContainsFunc(before, func(b *field.Error) bool { return b.Type == err.Type && b.Field == err.Field }) {
			found = append(found, err)
		}
	}
	return found
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

// MayLackRequired says whether a decoded object has nothing in a required field, so that only the body tells whether the writer left the
// field out or left it empty.
func (p *ClusterProfile) MayLackRequired() bool {
	status := &p.Status
	return isEmpty(p.Spec.ClusterManager.Name) ||
		slices.ContainsFunc(status.Conditions, conditionMayLackRequired) ||
		slices.ContainsFunc(status.Properties, func(p Property) bool { return p.Name == "" || p.Value == "" }) ||
		slices.ContainsFunc(status.AccessProviders, accessMayLackRequired) ||
		slices.ContainsFunc(status.CredentialProviders, accessMayLackRequired)
}

// MayLackRequired is as for a ClusterProfile.
func (d *PlacementDecision) MayLackRequired() bool {
	return d.Decisions == nil || slices.ContainsFunc(d.Decisions, func(c ClusterDecision) bool { return isEmpty(c.ClusterProfileRef.Name) })
}

func conditionMayLackRequired(c metav1.Condition) bool {
	return c.Type == "" || c.Status == "" || c.Reason == "" || c.Message == "" || c.LastTransitionTime.IsZero()
}

func accessMayLackRequired(a AccessProvider) bool {
	if isEmpty(a.Name) || a.Cluster == nil || isEmpty(a.Cluster.Server) {
		return true
	}
	if data := a.Cluster.CertificateAuthorityData; data != nil && len(data) == 0 {
		return true // sent, but empty, which is no base64
	}
	return slices.ContainsFunc(a.Cluster.Extensions, func(e NamedExtension) bool { return isEmpty(e.Name) || len(e.Extension.Raw) == 0 })
}

func isEmpty(text *string) bool { return text == nil || *text == "" }
