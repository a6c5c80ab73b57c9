package viewlog

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/storage"
)

var (
	// errNotLoaded is why nothing is served before the first Reset.
	errNotLoaded = errors.New("the view is being loaded")
	// errSuspended is why nothing is served after a Suspend that gave no reason.
	errSuspended = errors.New("the view is suspended")
	errTooOld    = errors.New("the history does not reach back to that resourceVersion")
	errEnded     = errors.New("the view was loaded anew or is not served any more")
	errStopped   = errors.New("the watch was stopped")
)

// unavailable is the answer while nothing is served. Clients come again by themselves.
func unavailable(why error) *apierrors.StatusError {
	return Unavailable(fmt.Sprintf("ClusterStatuses cannot be served now: %v", why))
}

// Unavailable is 503 with the time after which to try again, which client-go keeps to.
func Unavailable(message string) *apierrors.StatusError {
	err := apierrors.NewServiceUnavailable(message)
	err.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
	return err
}

func tooOldToWatch(rv, floor uint64) *apierrors.StatusError {
	return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", rv, floor))
}

// tooOldToContinue is the answer to a continue token whose snapshot is gone. It has a token with which the rest can be listed as it is now.
func tooOldToContinue(key, prefix string) *apierrors.StatusError {
	err := apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list result. Start a new list " +
		"without it, or use the continue token of this response to get the rest as it is now.")
	if token, encodeErr := storage.EncodeContinue(key, prefix, -1); encodeErr == nil {
		err.ErrStatus.ListMeta.Continue = token
	}
	return err
}

func givenUp(ctx context.Context) error {
	return apierrors.NewTimeoutError(fmt.Sprintf("the request ended while it waited for the view: %v", context.Cause(ctx)), 1)
}
