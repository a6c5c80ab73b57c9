package apiserver

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"slices"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	clocktesting "k8s.io/utils/clock/testing"
)

// signer is a certificate with its key.
type signer struct {
	*x509.Certificate
	key crypto.Signer
}

// issue makes a certificate that parent signs, or signs itself where that is nil.
func issue(t *testing.T, parent *signer, name string, until time.Time, usage x509.ExtKeyUsage) *signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: until,
		BasicConstraintsValid: true, IsCA: usage == 0, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	if usage != 0 {
		template.ExtKeyUsage = []x509.ExtKeyUsage{usage}
	}
	if parent == nil {
		parent = &signer{template, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent.Certificate, key.Public(), parent.key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &signer{certificate, key}
}

// trust is what a server believes of front proxies, which may change.
type trust struct {
	dynamiccertificates.CAContentProvider
	names []string
}

func (c *trust) Value() []string { return c.names }

func (c *trust) in(t *testing.T, cas ...*signer) {
	t.Helper()
	var bundle []byte
	for _, ca := range cas {
		bundle = append(bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Raw})...)
	}
	provider, err := dynamiccertificates.NewStaticCAContent("test", bundle)
	if err != nil {
		t.Fatal(err)
	}
	c.CAContentProvider = provider
}

// TestRememberFrontProxies asks the library beside it each time, and wants the same callers with fewer verifications.
func TestRememberFrontProxies(t *testing.T) {
	later := time.Now().Add(24 * time.Hour)
	ca, nextCA, otherCA := issue(t, nil, "ca", later, 0), issue(t, nil, "ca", later, 0), issue(t, nil, "other", later, 0)
	between := issue(t, ca, "between", later, 0)
	const client = x509.ExtKeyUsageClientAuth
	proxy := issue(t, ca, "front-proxy", later, client)
	believed := &trust{}
	headers := headerrequest.StaticStringSlice{"X-Remote-User"}
	none := headerrequest.StaticStringSlice{}
	config := &authenticatorfactory.RequestHeaderConfig{
		UsernameHeaders: headers, UIDHeaders: none, GroupHeaders: headerrequest.StaticStringSlice{"X-Remote-Group"}, ExtraHeaderPrefixes: none,
		AllowedClientNames: believed,
	}
	asked := 0
	library := authenticator.RequestFunc(func(req *http.Request) (*authenticator.Response, bool, error) {
		asked++
		return headerrequest.NewDynamicVerifyOptionsSecure(believed.VerifyOptions, believed, headers, none, config.GroupHeaders, none).AuthenticateRequest(req)
	})
	wall := clocktesting.NewFakePassiveClock(time.Now())
	believed.in(t, ca)
	believed.names = []string{"front-proxy"}
	config.CAContentProvider = believed
	remember := RememberFrontProxies(library, config, wall)
	for _, step := range []struct {
		name         string
		certificates []*signer
		user         string
		change       func()
		known        bool // without the library
	}{
		{name: "the proxy", certificates: []*signer{proxy}, user: "anna", known: true},
		{name: "again", certificates: []*signer{proxy}, user: "otto", known: true},
		{name: "nobody named", certificates: []*signer{proxy}},
		{name: "no certificate", user: "anna"},
		{name: "another CA", certificates: []*signer{issue(t, otherCA, "front-proxy", later, client)}, user: "anna"},
		{name: "another name", certificates: []*signer{issue(t, ca, "somebody", later, client)}, user: "anna"},
		{name: "a server's certificate", certificates: []*signer{issue(t, ca, "front-proxy", later, x509.ExtKeyUsageServerAuth)}, user: "anna"},
		{name: "one that has ended", certificates: []*signer{issue(t, ca, "front-proxy", time.Now().Add(-time.Minute), client)}, user: "anna"},
		{name: "one between", certificates: []*signer{issue(t, between, "front-proxy", later, client), between}, user: "anna", known: true},
		{name: "one between that is missing", certificates: []*signer{issue(t, between, "front-proxy", later, client)}, user: "anna"},
		{name: "a name that is no longer allowed", change: func() { believed.names = []string{"renamed"} }, certificates: []*signer{proxy}, user: "anna"},
		{name: "and is again", change: func() { believed.names = nil }, certificates: []*signer{proxy}, user: "anna", known: true},
		{name: "the CA is gone", change: func() { believed.in(t, nextCA) }, certificates: []*signer{proxy}, user: "anna"},
		{name: "the next CA", certificates: []*signer{issue(t, nextCA, "front-proxy", later, client)}, user: "anna", known: true},
		{name: "the CA is back", change: func() { believed.in(t, ca, nextCA) }, certificates: []*signer{proxy}, user: "anna", known: true},
		{name: "the certificate ends", change: func() { wall.SetTime(later.Add(time.Second)) }, certificates: []*signer{proxy}, user: "anna"},
	} {
		if step.change != nil {
			step.change()
		}
		t.Run(step.name, func(t *testing.T) {
			req := func() *http.Request {
				r := post(reportPath, "")
				r.TLS = &tls.ConnectionState{}
				for _, c := range step.certificates {
					r.TLS.PeerCertificates = append(r.TLS.PeerCertificates, c.Certificate)
				}
				r.Header.Set("X-Remote-Group", "agents")
				if step.user != "" {
					r.Header.Set("X-Remote-User", step.user)
				}
				return r
			}
			want, wantOK, wantErr := library.AuthenticateRequest(req())
			asked = 0
			got, ok, err := remember.AuthenticateRequest(req())
			if ok != wantOK || (err != nil) != (wantErr != nil) || ok && (got.User.GetName() != want.User.GetName() || got.User.GetName() != step.user) {
				t.Errorf("%v %t %v, the library: %v %t %v", got, ok, err, want, wantOK, wantErr)
			}
			if ok && step.known && !slices.Equal(got.User.GetGroups(), []string{"agents", "system:authenticated"}) {
				t.Errorf("groups %v", got.User.GetGroups())
			}
			if asked != 0 == step.known {
				t.Errorf("the library was asked %d times", asked)
			}
		})
	}
}
