package apiserver

import (
	"net/http"
	"slices"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
)

// HealthPaths are all that a caller without an identity may ask.
var HealthPaths = []string{"/healthz", "/livez", "/readyz"}

// AnonymousOnlyForHealth refuses requests without an identity everywhere but on the health paths, which probes ask. The delegating
// options of the library let them through to authorization, and cannot be told otherwise.
func AnonymousOnlyForHealth(inner authenticator.Request) authenticator.Request {
	return authenticator.RequestFunc(func(req *http.Request) (*authenticator.Response, bool, error) {
		response, ok, err := inner.AuthenticateRequest(req)
		if ok && response.User.GetName() == user.Anonymous && !slices.Contains(HealthPaths, req.URL.Path) {
			return nil, false, nil
		}
		return response, ok, err
	})
}
