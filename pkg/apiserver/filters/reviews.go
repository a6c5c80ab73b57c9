package filters

import (
	"context"
	"net/http"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"
)

// retryReview is after how many seconds a caller may ask again whose rights could not be asked for.
const retryReview = 1

type reviewKey struct{}

// review holds whether the rights of a request could not be asked for.
type review struct{ failed atomic.Bool }

// failedReviews marks the requests whose rights the inner authorizer could not find out.
type failedReviews struct{ authorizer.Authorizer }

// MarkFailedReviews lets WithFailedReviews know which requests the authorizer could not decide.
func MarkFailedReviews(inner authorizer.Authorizer) authorizer.Authorizer {
	return failedReviews{inner}
}

// Authorize implements authorizer.UnconditionalAuthorizer.
func (f failedReviews) Authorize(ctx context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	decision, reason, err := f.Authorizer.Authorize(ctx, attributes)
	if r, ok := ctx.Value(reviewKey{}).(*review); ok && err != nil && decision != authorizer.DecisionAllow {
		r.failed.Store(true)
	}
	return decision, reason, err
}

// WithFailedReviews answers a request 503 with Retry-After, which clients of Kubernetes follow, where the hub could not be asked for
// the rights of the caller. The library answers 500, which says that the fault is here and that to try again is of no use.
func WithFailedReviews(handler http.Handler, serializer runtime.NegotiatedSerializer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r := &review{}
		req = req.WithContext(context.WithValue(req.Context(), reviewKey{}, r))
		handler.ServeHTTP(responsewriter.WrapForHTTP1Or2(&reviewWriter{ResponseWriter: w, req: req, review: r, serializer: serializer}), req)
	})
}

// reviewWriter puts another answer in the place of 500 for a request that could not be decided.
type reviewWriter struct {
	http.ResponseWriter
	req        *http.Request
	review     *review
	serializer runtime.NegotiatedSerializer
	replaced   bool
}

// Unwrap implements responsewriter.UserProvidedDecorator.
func (w *reviewWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *reviewWriter) WriteHeader(code int) {
	if code != http.StatusInternalServerError || !w.review.failed.Load() {
		w.ResponseWriter.WriteHeader(code)
		return
	}
	w.replaced = true
	err := apierrors.NewServiceUnavailable("the hub could not be asked for the rights of the caller; try again")
	err.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: retryReview}
	responsewriters.ErrorNegotiated(err, w.serializer, schema.GroupVersion{}, w.ResponseWriter, w.req)
}

// Write implements http.ResponseWriter.
func (w *reviewWriter) Write(data []byte) (int, error) {
	if w.replaced {
		return len(data), nil
	}
	return w.ResponseWriter.Write(data)
}
