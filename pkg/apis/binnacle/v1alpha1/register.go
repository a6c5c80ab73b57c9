package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// GroupName is the API group of Binnacle's own kinds.
const GroupName = "binnacle.dev"

// SchemeGroupVersion is the group and version of this package.
var SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

var (
	// SchemeBuilder collects what registers the types; generated code adds to it.
	SchemeBuilder      runtime.SchemeBuilder
	localSchemeBuilder = &SchemeBuilder
	// AddToScheme registers the types of this version.
	AddToScheme = localSchemeBuilder.AddToScheme
)

func init() {
	// Only what is hand-written is registered here; generated files register themselves, so that this compiles without them.
	localSchemeBuilder.Register(addKnownTypes, addFieldLabelConversions, addDefaultingFuncs)
}

// Resource qualifies a resource with the group.
func Resource(resource string) schema.GroupResource {
	return SchemeGroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&ClusterStatus{},
		&ClusterStatusList{},
		&ClusterReport{},
		&Rollout{},
		&RolloutList{},
		&RolloutAction{},
		&RolloutFeedback{},
		&RolloutPreview{},
		&RolloutPreviewOptions{},
	)
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}

// addFieldLabelConversions declares the field selectors beside metadata.name and metadata.namespace.
func addFieldLabelConversions(scheme *runtime.Scheme) error {
	if err := scheme.AddFieldLabelConversionFunc(SchemeGroupVersion.WithKind("ClusterStatus"), binnacle.ClusterStatusFieldLabel); err != nil {
		return err
	}
	return scheme.AddFieldLabelConversionFunc(SchemeGroupVersion.WithKind("Rollout"), binnacle.RolloutFieldLabel)
}
