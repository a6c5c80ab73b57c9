// Package filters holds the HTTP filters around our resources.
package filters

import (
	"mime"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// customResourcePatchTypes are the patches that kube-apiserver takes for a custom resource. A strategic merge needs merge keys in the
// Go types of the client, which nobody has for these kinds; without them it replaces whole lists in silence.
var customResourcePatchTypes = []string{string(types.JSONPatchType), string(types.MergePatchType), string(types.ApplyYAMLPatchType)}

// WithCustomResourcePatchTypes answers a strategic merge patch of what is ours as for a custom resource: 415 with
// the types that are accepted.
func WithCustomResourcePatchTypes(handler http.Handler, serializer runtime.NegotiatedSerializer, ours func(*request.RequestInfo) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info := patchOf(req, ours)
		if info != nil && mediaType(req) == string(types.StrategicMergePatchType) {
			gv := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
			responsewriters.ErrorNegotiated(negotiation.NewUnsupportedMediaTypeError(customResourcePatchTypes), serializer, gv, w, req)
			return
		}
		handler.ServeHTTP(w, req)
	})
}

// patchOf returns what is patched where the request patches what is ours, else nil.
func patchOf(req *http.Request, ours func(*request.RequestInfo) bool) *request.RequestInfo {
	info, ok := request.RequestInfoFrom(req.Context())
	if !ok || !info.IsResourceRequest || info.Verb != "patch" || !ours(info) {
		return nil
	}
	return info
}

func mediaType(req *http.Request) string {
	parsed, _, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return parsed
}
