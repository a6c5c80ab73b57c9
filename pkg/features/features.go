// Package features declares Binnacle's own feature gates. Those of the Kubernetes libraries are set by the same flag under the prefix
// kube.
package features

import (
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-base/featuregate"
)

const (
	// CustomResourceErrors answers a body that does not fit the schema as kube-apiserver does for a custom resource: 422 with the path
	// of each field. Without it the answer is that of a built-in kind: 400 with the words of the Go decoder, and a required field that
	// is left out counts as empty.
	CustomResourceErrors featuregate.Feature = "CustomResourceErrors"
	// StorageCompression writes objects compressed into etcd. What is stored compressed is read with and without it.
	StorageCompression featuregate.Feature = "StorageCompression"
)

// Add declares the gates.
func Add(gates featuregate.MutableVersionedFeatureGate) error {
	return gates.AddVersioned(map[featuregate.Feature]featuregate.VersionedSpecs{
		CustomResourceErrors: {{Version: version.MustParse("0.1"), Default: true, PreRelease: featuregate.Beta}},
		StorageCompression:   {{Version: version.MustParse("0.1"), Default: true, PreRelease: featuregate.Beta}},
	})
}
