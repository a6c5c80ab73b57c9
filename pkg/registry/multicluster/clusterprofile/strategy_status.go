package clusterprofile

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha2"
)

// statusStrategy is the rules of the status subresource: nothing may be written but the status.
type statusStrategy struct{ strategy }

// PrepareForUpdate keeps everything but the status, and of the status what the version of the request does not have.
func (statusStrategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	profile, oldProfile := obj.(*multicluster.ClusterProfile), old.(*multicluster.ClusterProfile)
	managedFields := profile.ManagedFields
	oldProfile.ObjectMeta.DeepCopyInto(&profile.ObjectMeta)
	profile.ManagedFields = managedFields
	profile.Spec = oldProfile.Spec
	if requestVersion(ctx) == v1alpha2.SchemeGroupVersion.Version {
		keepWhatV1alpha2Lacks(&profile.Status, &oldProfile.Status)
	}
}

// WarningsOnUpdate says what is deprecated in the status of a version that still has it.
func (statusStrategy) WarningsOnUpdate(ctx context.Context, obj, _ runtime.Object) []string {
	profile := obj.(*multicluster.ClusterProfile)
	if len(profile.Status.CredentialProviders) > 0 && requestVersion(ctx) == v1alpha1.SchemeGroupVersion.Version {
		return []string{"status.credentialProviders: deprecated, and absent from v1alpha2; use status.accessProviders"}
	}
	return nil
}

// GetResetFields tells server-side apply that writers of the status own nothing else.
func (statusStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return inEachVersion(fieldpath.NewSet(fieldpath.MakePathOrDie("metadata"), fieldpath.MakePathOrDie("spec")))
}

// keepWhatV1alpha2Lacks puts back what a client of v1alpha2 can neither see nor mean to remove: the credential providers, and the CA
// file of an access provider that is still there.
func keepWhatV1alpha2Lacks(status, old *multicluster.ClusterProfileStatus) {
	status.CredentialProviders = old.CredentialProviders
	files := map[string]string{}
	for _, provider := range old.AccessProviders {
		if provider.Cluster != nil && provider.Cluster.CertificateAuthority != "" {
			files[ptr.Deref(provider.Name, "")] = provider.Cluster.CertificateAuthority
		}
	}
	for i := range status.AccessProviders {
		provider := &status.AccessProviders[i]
		if provider.Cluster != nil {
			provider.Cluster.CertificateAuthority = files[ptr.Deref(provider.Name, "")]
		}
	}
}

// requestVersion is the version of our group that the client speaks.
func requestVersion(ctx context.Context) string {
	if info, ok := genericapirequest.RequestInfoFrom(ctx); ok {
		return info.APIVersion
	}
	return ""
}
