package apiserver

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	binnacleinstall "github.com/binnacle-dev/binnacle/pkg/apis/binnacle/install"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/install"
)

var (
	// Scheme knows every type that the server serves.
	Scheme = NewScheme()
	// Codecs encodes and decodes them.
	Codecs = serializer.NewCodecFactory(Scheme)
)

// NewScheme returns a scheme with every type that the server serves.
func NewScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	binnacleinstall.Install(scheme)
	// The generic server answers with these under the version v1 of no group.
	v1 := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, v1)
	scheme.AddUnversionedTypes(v1, &metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroupList{}, &metav1.APIGroup{}, &metav1.APIResourceList{})
	return scheme
}
