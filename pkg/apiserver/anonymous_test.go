package apiserver

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
)

func TestAnonymousOnlyForHealth(t *testing.T) {
	as := func(name string) authenticator.RequestFunc {
		return func(*http.Request) (*authenticator.Response, bool, error) {
			return &authenticator.Response{User: &user.DefaultInfo{Name: name}}, true, nil
		}
	}
	broken := errors.New("no hub")
	tests := []struct {
		name, path string
		inner      authenticator.RequestFunc
		user       string
		err        error
	}{
		{name: "nobody, healthz", path: "/healthz", inner: as(user.Anonymous), user: user.Anonymous},
		{name: "nobody, livez", path: "/livez", inner: as(user.Anonymous), user: user.Anonymous},
		{name: "nobody, readyz with a query", path: "/readyz?verbose", inner: as(user.Anonymous), user: user.Anonymous},
		{name: "nobody, one check of readyz", path: "/readyz/etcd", inner: as(user.Anonymous)},
		{name: "nobody, readyz with a slash", path: "/readyz/", inner: as(user.Anonymous)},
		{name: "nobody, readyz by another way", path: "/apis/../readyz", inner: as(user.Anonymous)},
		{name: "nobody, root", path: "/", inner: as(user.Anonymous)},
		{name: "nobody, version", path: "/version", inner: as(user.Anonymous)},
		{name: "nobody, openapi", path: "/openapi/v3", inner: as(user.Anonymous)},
		{name: "nobody, a resource", path: "/apis/multicluster.x-k8s.io/v1alpha1/clusterprofiles", inner: as(user.Anonymous)},
		{name: "somebody, a resource", path: "/apis/multicluster.x-k8s.io/v1alpha1/clusterprofiles", inner: as("jane"), user: "jane"},
		{name: "somebody, health", path: "/healthz", inner: as("jane"), user: "jane"},
		{name: "refused already", path: "/healthz", inner: func(*http.Request) (*authenticator.Response, bool, error) { return nil, false, nil }},
		{name: "error stays", path: "/healthz", inner: func(*http.Request) (*authenticator.Response, bool, error) { return nil, false, broken }, err: broken},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			response, ok, err := AnonymousOnlyForHealth(test.inner).AuthenticateRequest(httptest.NewRequest(http.MethodGet, test.path, nil))
			if !errors.Is(err, test.err) || ok != (test.user != "") {
				t.Fatalf("authenticated %v, error %v", ok, err)
			}
			if ok && response.User.GetName() != test.user {
				t.Errorf("user %q, want %q", response.User.GetName(), test.user)
			}
		})
	}
}
