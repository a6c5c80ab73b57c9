package quota

import (
	"context"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// conflictPause is waited after a conflict, and up to as long again: time for the cache to see what somebody else has counted.
const conflictPause = 50 * time.Millisecond

// patient is a client that takes its time after a conflict. The others who count in a namespace are other replicas, the hub for its own
// kinds, and its controller. The library tries again three times, with those quotas only whose write failed, but at once, from a cache that has not
// seen yet what the others wrote. To try from outside would count again in the quotas that were written.
type patient struct{ kubernetes.Interface }

// CoreV1 implements kubernetes.Interface.
func (p patient) CoreV1() corev1client.CoreV1Interface { return patientCore{p.Interface.CoreV1()} }

type patientCore struct{ corev1client.CoreV1Interface }

// ResourceQuotas implements corev1client.ResourceQuotasGetter.
func (c patientCore) ResourceQuotas(namespace string) corev1client.ResourceQuotaInterface {
	return patientQuotas{c.CoreV1Interface.ResourceQuotas(namespace)}
}

type patientQuotas struct {
	corev1client.ResourceQuotaInterface
}

// UpdateStatus implements corev1client.ResourceQuotaInterface.
func (q patientQuotas) UpdateStatus(ctx context.Context, quota *corev1.ResourceQuota, options metav1.UpdateOptions) (*corev1.ResourceQuota, error) {
	updated, err := q.ResourceQuotaInterface.UpdateStatus(ctx, quota, options)
	if apierrors.IsConflict(err) {
		time.Sleep(conflictPause + rand.N(conflictPause))
	}
	return updated, err
}
