package expression

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	binnaclev1alpha1 "github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	multiclusterv1alpha1 "github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
)

// activation is the variables of one cluster. They are made when the expression asks for them first.
type activation struct {
	variables map[string]variable
	profile   *multicluster.ClusterProfile
	status    *binnacle.ClusterStatus

	resolved [2]any
}

// ResolveName implements cel.Activation.
func (a *activation) ResolveName(name string) (any, bool) {
	switch name {
	case profileVariable:
		return a.resolve(0, name, a.versionedProfile), true
	case statusVariable:
		return a.resolve(1, name, a.versionedStatus), true
	}
	return nil, false
}

// Parent implements cel.Activation.
func (*activation) Parent() cel.Activation { return nil }

func (a *activation) resolve(i int, name string, versioned func() (any, error)) any {
	if a.resolved[i] == nil {
		object, err := versioned()
		if err != nil {
			a.resolved[i] = types.WrapErr(err)
		} else {
			a.resolved[i] = common.TypedToVal(object, a.variables[name].schema)
		}
	}
	return a.resolved[i]
}

func (a *activation) versionedProfile() (any, error) {
	versioned := &multiclusterv1alpha1.ClusterProfile{}
	if err := multiclusterv1alpha1.Convert_multicluster_ClusterProfile_To_v1alpha1_ClusterProfile(a.profile, versioned, nil); err != nil {
		return nil, err
	}
	versioned.APIVersion, versioned.Kind = multiclusterv1alpha1.SchemeGroupVersion.String(), "ClusterProfile"
	return versioned, nil
}

func (a *activation) versionedStatus() (any, error) {
	versioned := binnaclev1alpha1.ClusterStatus{}
	if a.status != nil {
		if err := binnaclev1alpha1.Convert_binnacle_ClusterStatus_To_v1alpha1_ClusterStatus(a.status, &versioned, nil); err != nil {
			return nil, err
		}
	}
	return &statusValue{
		TypeMeta:   metav1.TypeMeta{APIVersion: binnaclev1alpha1.SchemeGroupVersion.String(), Kind: "ClusterStatus"},
		ObjectMeta: versioned.ObjectMeta,
		Status:     statusStatusValue{versioned.Status, resourcesOf(versioned.Status.Resources)},
	}, nil
}

// statusValue is a ClusterStatus whose resources are by plain strings: the library's values find nothing by a string in a map whose keys
// are of a type of their own, as those of a ResourceList.
type statusValue struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Status            statusStatusValue `json:"status,omitempty"`
}

type statusStatusValue struct {
	binnaclev1alpha1.ClusterStatusStatus `json:",inline"`
	// Resources are instead of those before.
	Resources *resourcesValue `json:"resources,omitempty"`
}

type resourcesValue struct {
	Capacity    map[string]resource.Quantity `json:"capacity,omitempty"`
	Allocatable map[string]resource.Quantity `json:"allocatable,omitempty"`
	Available   map[string]resource.Quantity `json:"available,omitempty"`
}

func resourcesOf(resources *binnaclev1alpha1.ClusterResources) *resourcesValue {
	if resources == nil {
		return nil
	}
	return &resourcesValue{byString(resources.Capacity), byString(resources.Allocatable), byString(resources.Available)}
}

func byString(list corev1.ResourceList) map[string]resource.Quantity {
	plain := make(map[string]resource.Quantity, len(list))
	for name, quantity := range list {
		plain[string(name)] = quantity
	}
	return plain
}
