package store

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// NameBody fills in the name and the namespace of a body that is posted to a subresource, and refuses one that says that it is for
// another object than the one it was sent to.
func NameBody(ctx context.Context, name string, meta *metav1.ObjectMeta) error {
	namespace := request.NamespaceValue(ctx)
	if meta.Name != "" && meta.Name != name {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", meta.Name, name))
	}
	if meta.Namespace != "" && meta.Namespace != namespace {
		return apierrors.NewBadRequest(fmt.Sprintf("the namespace of the provided object does not match the namespace sent on the request: %s and %s",
			meta.Namespace, namespace))
	}
	meta.Name, meta.Namespace = name, namespace
	return nil
}
