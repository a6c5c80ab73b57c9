package filters

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// WithBodyLimit answers 413 to a POST with a larger body to a subresource. The limit of the library is one for all requests.
func (s Subresource) WithBodyLimit(handler http.Handler, serializer runtime.NegotiatedSerializer, limit int64, refused func()) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, ok := request.RequestInfoFrom(req.Context())
		if !ok || !s.Created(info) {
			handler.ServeHTTP(w, req)
			return
		}
		gv := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
		tooLarge := req.ContentLength > limit
		if req.ContentLength < 0 && req.Body != nil {
			// Its length is not known before it is read.
			body, err := io.ReadAll(io.LimitReader(req.Body, limit+1))
			if err != nil {
				responsewriters.ErrorNegotiated(apierrors.NewBadRequest(fmt.Sprintf("cannot read the body: %v", err)), serializer, gv, w, req)
				return
			}
			tooLarge = int64(len(body)) > limit
			req.Body = io.NopCloser(bytes.NewReader(body))
		}
		if tooLarge {
			refused()
			err := apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d bytes for %s of %s", limit, s.Name, s.Resource))
			responsewriters.ErrorNegotiated(err, serializer, gv, w, req)
			return
		}
		handler.ServeHTTP(w, req)
	})
}
