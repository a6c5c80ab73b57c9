package filters

import (
	"bytes"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/binnacle-dev/binnacle/pkg/apiserver/bodycheck"
)

// WithApplyBodyCheck answers a server-side apply whose body does not have the formats of the schema with 422 and the path of each
// field, as kube-apiserver does for a custom resource. A body of more than limit bytes is left to the handler, which refuses it.
func WithApplyBodyCheck(handler http.Handler, serializer runtime.NegotiatedSerializer, schemas resolver.SchemaResolver, limit int64, ours func(*request.RequestInfo) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info := patchOf(req, ours)
		if info == nil || mediaType(req) != string(types.ApplyYAMLPatchType) {
			handler.ServeHTTP(w, req)
			return
		}
		body, err := io.ReadAll(io.LimitReader(req.Body, limit+1))
		// The handler reads what was read here, and then whatever is left: more bytes, or the error.
		req.Body = rest{io.MultiReader(bytes.NewReader(body), again{req.Body, err}), req.Body}
		if err == nil && int64(len(body)) <= limit {
			if found, kind := bodycheck.CheckApply(schemas, body); len(found) > 0 {
				refusal := apierrors.NewInvalid(schema.GroupKind{Group: info.APIGroup, Kind: kind}, info.Name, found)
				responsewriters.ErrorNegotiated(refusal, serializer, schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}, w, req)
				return
			}
		}
		handler.ServeHTTP(w, req)
	})
}

// rest is a body of which a part was read already.
type rest struct {
	io.Reader
	io.Closer
}

// again is a reader that reports an error that reading met before.
type again struct {
	io.Reader
	err error
}

func (a again) Read(p []byte) (int, error) {
	if a.err != nil {
		return 0, a.err
	}
	return a.Reader.Read(p)
}
