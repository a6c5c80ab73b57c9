package filters

import (
	"net/http"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// Subresource names what is posted to.
type Subresource struct {
	schema.GroupResource
	Name string
}

// Created says whether a request is a POST to the subresource.
func (s Subresource) Created(info *request.RequestInfo) bool {
	return info.IsResourceRequest && info.Verb == "create" && s.isOf(info)
}

func (s Subresource) isOf(info *request.RequestInfo) bool {
	return info.APIGroup == s.Group && info.Resource == s.Resource && info.Subresource == s.Name
}

// Split sends what is posted to a subresource one way, and everything else another. It stands before the handler that finds out what a
// request is, and so finds out itself; what is posted has it in its context.
func (s Subresource) Split(posted, other http.Handler, resolver request.RequestInfoResolver) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodPost {
			if info, err := resolver.NewRequestInfo(req); err == nil && s.Created(info) {
				posted.ServeHTTP(w, req.WithContext(request.WithRequestInfo(req.Context(), info)))
				return
			}
		}
		other.ServeHTTP(w, req)
	})
}
