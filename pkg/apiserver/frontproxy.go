package apiserver

import (
	"crypto/sha256"
	"crypto/x509"
	"net/http"
	"slices"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
)

// maxFrontProxies bounds how many certificates of front proxies are known: each API server of the hub has one, and renews it.
const maxFrontProxies = 64

// frontProxies knows the certificates that were verified.
type frontProxies struct {
	inner   authenticator.Request
	headers authenticator.Request
	config  *authenticatorfactory.RequestHeaderConfig
	clock   clock.PassiveClock
	known   *lru.Cache
}

// frontProxyKey is what a verification depends on, but for the time: the pool of the CAs is another one with each change of them.
type frontProxyKey struct {
	certificates [sha256.Size]byte
	roots        *x509.CertPool
}

// validity is when every certificate of a chain is valid (RFC 5280, section 4.1.2.5).
type validity struct{ from, until time.Time }

// RememberFrontProxies verifies the certificate of the hub's front proxy once, and not with each request of a connection: the signature is
// most of what it costs to know the caller of a request that comes through the hub. The certificate is verified anew as soon as the CAs are
// others, and counts only while it is valid and has an allowed name. Whatever is not plainly a request of a front proxy is for inner.
func RememberFrontProxies(inner authenticator.Request, config *authenticatorfactory.RequestHeaderConfig, clock clock.PassiveClock) authenticator.Request {
	if config == nil {
		return inner
	}
	headers := headerrequest.NewDynamic(config.UsernameHeaders, config.UIDHeaders, config.GroupHeaders, config.ExtraHeaderPrefixes)
	p := &frontProxies{inner, group.NewAuthenticatedGroupAdder(headers), config, clock, lru.New(maxFrontProxies)}
	return authenticator.RequestFunc(p.authenticate)
}

func (p *frontProxies) authenticate(req *http.Request) (*authenticator.Response, bool, error) {
	if p.verified(req) {
		if response, ok, err := p.headers.AuthenticateRequest(req); ok || err != nil {
			return response, ok, err
		}
	}
	return p.inner.AuthenticateRequest(req)
}

// verified says whether the request comes from a front proxy.
func (p *frontProxies) verified(req *http.Request) bool {
	if req.TLS == nil || len(req.TLS.PeerCertificates) == 0 {
		return false
	}
	certificates := req.TLS.PeerCertificates
	if names := p.config.AllowedClientNames.Value(); len(names) > 0 && !slices.Contains(names, certificates[0].Subject.CommonName) {
		return false
	}
	options, ok := p.config.CAContentProvider.VerifyOptions()
	if !ok {
		return false
	}
	key, now := frontProxyKey{fingerprint(certificates), options.Roots}, p.clock.Now()
	if known, ok := p.known.Get(key); ok {
		v := known.(validity)
		return !now.Before(v.from) && !now.After(v.until)
	}
	options.CurrentTime = now
	if options.Intermediates == nil && len(certificates) > 1 {
		options.Intermediates = x509.NewCertPool()
		for _, intermediate := range certificates[1:] {
			options.Intermediates.AddCert(intermediate)
		}
	}
	chains, err := certificates[0].Verify(options)
	if err != nil || len(chains) == 0 {
		return false // The library says why.
	}
	p.known.Add(key, validityOf(chains[0]))
	return true
}

func fingerprint(certificates []*x509.Certificate) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, c := range certificates {
		own := sha256.Sum256(c.Raw)
		h.Write(own[:])
	}
	h.Sum(sum[:0])
	return sum
}

func validityOf(chain []*x509.Certificate) validity {
	v := validity{chain[0].NotBefore, chain[0].NotAfter}
	for _, c := range chain[1:] {
		if c.NotBefore.After(v.from) {
			v.from = c.NotBefore
		}
		if c.NotAfter.Before(v.until) {
			v.until = c.NotAfter
		}
	}
	return v
}
