package filters

import (
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// WithoutTransforms answers 406 where a client accepts nothing of one of the subresources but a table or metadata only. Their objects have
// no ObjectMeta to show, which the library finds out after the request has been served, and answers 500.
func WithoutTransforms(handler http.Handler, serializer runtime.NegotiatedSerializer, subresources ...Subresource) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, ok := request.RequestInfoFrom(req.Context())
		if !ok || !slices.ContainsFunc(subresources, func(s Subresource) bool { return s.isOf(info) }) || req.Header.Get("Accept") == "" {
			handler.ServeHTTP(w, req)
			return
		}
		var accepted []string
		for clause := range strings.SplitSeq(req.Header.Get("Accept"), ",") {
			if !asAnother(clause) {
				accepted = append(accepted, strings.TrimSpace(clause))
			}
		}
		if len(accepted) == 0 {
			gv := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
			req.Header.Del("Accept") // In which the error could not be told either.
			responsewriters.ErrorNegotiated(negotiation.NewNotAcceptableError([]string{
				runtime.ContentTypeJSON, runtime.ContentTypeYAML, runtime.ContentTypeProtobuf,
			}), serializer, gv, w, req)
			return
		}
		req.Header.Set("Accept", strings.Join(accepted, ","))
		handler.ServeHTTP(w, req)
	})
}

// asAnother says whether a clause of Accept asks for an object as another kind.
func asAnother(clause string) bool {
	for parameter := range strings.SplitSeq(clause, ";") {
		if name, _, _ := strings.Cut(parameter, "="); strings.EqualFold(strings.TrimSpace(name), "as") {
			return true
		}
	}
	return false
}
