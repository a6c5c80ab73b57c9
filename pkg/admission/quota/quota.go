package quota

import (
	"context"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota/apis/resourcequota/validation"
)

// PluginName is the one that the plugin has in kube-apiserver.
const PluginName = resourcequota.PluginName

// workers is how many namespaces are counted at once. It is kube-apiserver's number.
const workers = 5

// retryCount is after how many seconds a client shall try a create again that could not be counted for others who count.
const retryCount = 1

// plugin is the library's, but for its errors.
type plugin struct {
	*resourcequota.QuotaAdmission
}

// Register adds the plugin to those that a server may run.
func Register(plugins *admission.Plugins) {
	plugins.Register(PluginName, func(config io.Reader) (admission.Interface, error) {
		limits, err := resourcequota.LoadConfiguration(config)
		if err != nil {
			return nil, err
		}
		if errs := validation.ValidateConfiguration(limits); len(errs) > 0 {
			return nil, errs.ToAggregate()
		}
		counter, err := resourcequota.NewResourceQuota(limits, workers)
		return plugin{counter}, err
	})
}

// Validate refuses a create that a quota has no room for.
func (p plugin) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	return answer(a, p.QuotaAdmission.Validate(ctx, a, o))
}

// answer tells a quota that is used up, which is for the caller to act on, from a quota that could not be counted, which is not.
func answer(a admission.Attributes, err error) error {
	if err == nil || isRefusal(a, err) {
		return err
	}
	if apierrors.IsConflict(err) {
		// Others count in this namespace all the time. kube-apiserver answers 409, which reads as if the object were the matter.
		return apierrors.NewTooManyRequests(fmt.Sprintf("too many creates count in the quotas of namespace %q at once: %v", a.GetNamespace(), err), retryCount)
	}
	return apierrors.NewServiceUnavailable(fmt.Sprintf("the quotas of namespace %q cannot be counted on the hub now: %v", a.GetNamespace(), err))
}

// isRefusal says whether an error is about the object to be created. The hub's own 403 is about the quota, and would read as if the caller
// lacked a right.
func isRefusal(a admission.Attributes, err error) bool {
	status, ok := err.(apierrors.APIStatus)
	if !ok || !apierrors.IsForbidden(err) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == a.GetResource().Resource && details.Group == a.GetResource().Group
}
