package standalone

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/binnacle-dev/binnacle/pkg/apiserver"
)

func identity(t *testing.T, pki PKI) *genericapiserver.Config {
	t.Helper()
	config := genericapiserver.NewConfig(apiserver.Codecs)
	config.SecureServing = &genericapiserver.SecureServingInfo{}
	if err := ApplyIdentity(pki, config); err != nil {
		t.Fatal(err)
	}
	return config
}

// TestWhoIsWho asks who a caller is by its certificate, and whether it may do something there.
func TestWhoIsWho(t *testing.T) {
	pki, others := ensure(t, t.TempDir()), ensure(t, t.TempDir())
	config := identity(t, pki)
	if config.SecureServing.ClientCA == nil {
		t.Error("the TLS layer does not ask for client certificates")
	}
	admin, stranger, server := load(t, pki, "admin"), load(t, others, "admin"), load(t, pki, "server")
	const profiles = "/apis/multicluster.x-k8s.io/v1alpha1/namespaces/fleet/clusterprofiles"
	tests := []struct {
		name, path string
		with       *x509.Certificate
		// user is empty where the caller is refused before it is asked what it wants.
		user    string
		allowed bool
	}{
		{name: "administrator", path: profiles, with: admin, user: "binnacle-admin", allowed: true},
		{name: "administrator asks for health", path: "/readyz", with: admin, user: "binnacle-admin", allowed: true},
		{name: "administrator reads metrics", path: "/metrics", with: admin, user: "binnacle-admin", allowed: true},
		{name: "nobody", path: profiles},
		{name: "nobody reads metrics", path: "/metrics"},
		{name: "nobody asks the version", path: "/version"},
		{name: "nobody asks for healthz", path: "/healthz", user: user.Anonymous, allowed: true},
		{name: "nobody asks for livez", path: "/livez", user: user.Anonymous, allowed: true},
		{name: "nobody asks for readyz", path: "/readyz", user: user.Anonymous, allowed: true},
		{name: "nobody asks for one check", path: "/readyz/etcd"},
		{name: "administrator of another CA", path: profiles, with: stranger},
		{name: "administrator of another CA asks for health", path: "/healthz", with: stranger},
		{name: "serving certificate as a client", path: profiles, with: server},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			request := httptest.NewRequest(http.MethodGet, test.path, nil)
			if test.with != nil {
				request.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{test.with}}
			}
			response, ok, err := config.Authentication.Authenticator.AuthenticateRequest(request)
			if test.user == "" {
				if ok {
					t.Errorf("authenticated as %v", response.User)
				}
				return
			}
			if !ok || err != nil {
				t.Fatalf("refused: %v", err)
			}
			if got := response.User.GetName(); got != test.user {
				t.Errorf("user %q, want %q", got, test.user)
			}
			decision, _, err := config.Authorization.Authorizer.Authorize(t.Context(), authorizer.AttributesRecord{User: response.User, Verb: "get", Path: test.path})
			if err != nil || (decision == authorizer.DecisionAllow) != test.allowed {
				t.Errorf("decision %v, %v", decision, err)
			}
		})
	}
}

// TestOthersMayDoNothing asks for what an identity that is no administrator would get, should one ever come to be.
func TestOthersMayDoNothing(t *testing.T) {
	config := identity(t, ensure(t, t.TempDir()))
	somebody := &user.DefaultInfo{Name: "somebody", Groups: []string{user.AllAuthenticated}}
	for _, attributes := range []authorizer.AttributesRecord{
		{User: somebody, Verb: "get", Path: "/metrics"},
		{User: somebody, Verb: "post", Path: "/healthz/"},
		{User: somebody, Verb: "list", ResourceRequest: true, APIGroup: "multicluster.x-k8s.io", Resource: "clusterprofiles", Path: "/healthz"},
	} {
		decision, _, err := config.Authorization.Authorizer.Authorize(t.Context(), attributes)
		if err != nil || decision == authorizer.DecisionAllow {
			t.Errorf("%+v: decision %v, %v", attributes, decision, err)
		}
	}
}
