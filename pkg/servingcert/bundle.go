package servingcert

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// Keys of the Secret. The first three have the names that cert-manager and kubectl create secret tls use.
const (
	keyBundle = "ca.crt"
	keyCert   = "tls.crt"
	keyKey    = "tls.key"
	// keySigner holds the certificate and key of the CA that signs next; only replicas of the server may read the Secret.
	keySignerCert = "signer.crt"
	keySignerKey  = "signer.key"
)

// Of a certificate, backdate is how long before now it begins, for clocks that differ; of a CA, settle is how long the hub gets to
// notice that it is to trust it before it signs.
const (
	backdate = 5 * time.Minute
	settle   = 15 * time.Second
)

// Lifetimes. Each is renewed when less than a third of it is left.
const (
	caLifetime   = 3 * 365 * 24 * time.Hour
	leafLifetime = 90 * 24 * time.Hour
)

// state is what the Secret holds.
type state struct {
	// bundle is the CAs that are to be trusted, newest first.
	bundle []*x509.Certificate
	// signer is the newest of them, with its key.
	signer    *x509.Certificate
	signerKey crypto.Signer
	// leaf is what is served, in PEM and parsed; nil where there is none yet.
	leaf            *x509.Certificate
	leafPEM, keyPEM []byte
}

// parse reads a Secret. What is missing is made anew: to have the CA replaced, or the certificate, is to remove it from the Secret.
func parse(data map[string][]byte) (s state, err error) {
	if len(data[keyBundle]) > 0 {
		if s.bundle, err = cert.ParseCertsPEM(data[keyBundle]); err != nil {
			return s, fmt.Errorf("%s: %w", keyBundle, err)
		}
	}
	if len(data[keySignerCert]) > 0 && len(data[keySignerKey]) > 0 {
		if s.signer, s.signerKey, err = parsePair(data[keySignerCert], data[keySignerKey]); err != nil {
			return s, fmt.Errorf("%s and %s: %w", keySignerCert, keySignerKey, err)
		}
	}
	if len(data[keyCert]) > 0 && len(data[keyKey]) > 0 {
		if s.leaf, _, err = parsePair(data[keyCert], data[keyKey]); err != nil {
			return s, fmt.Errorf("%s and %s: %w", keyCert, keyKey, err)
		}
		s.leafPEM, s.keyPEM = data[keyCert], data[keyKey]
	}
	return s, nil
}

func parsePair(certPEM, keyPEM []byte) (*x509.Certificate, crypto.Signer, error) {
	// X509KeyPair also checks that the two belong together.
	if _, err := tls.X509KeyPair(certPEM, keyPEM); err != nil {
		return nil, nil, err
	}
	certs, err := cert.ParseCertsPEM(certPEM)
	if err != nil {
		return nil, nil, err
	}
	key, err := keyutil.ParsePrivateKeyPEM(keyPEM)
	if err != nil {
		return nil, nil, err
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, nil, fmt.Errorf("a %T cannot sign", key)
	}
	return certs[0], signer, nil
}

// data is what the Secret is to hold.
func (s state) data() (map[string][]byte, error) {
	bundle, err := cert.EncodeCertificates(s.bundle...)
	if err != nil {
		return nil, err
	}
	signer, err := cert.EncodeCertificates(s.signer)
	if err != nil {
		return nil, err
	}
	key, err := keyutil.MarshalPrivateKeyToPEM(s.signerKey)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{keyBundle: bundle, keySignerCert: signer, keySignerKey: key, keyCert: s.leafPEM, keyKey: s.keyPEM}, nil
}

// endsSoon says whether less than a third of a certificate's life is left.
func endsSoon(c *x509.Certificate, now time.Time) bool {
	return now.After(c.NotAfter.Add(-c.NotAfter.Sub(c.NotBefore) / 3))
}

// next returns the state that is to follow, and whether it differs. trusted is the bundle that every APIService has by now: a leaf is
// signed only by a CA in it, unless nothing was served before.
func (s state) next(now time.Time, hosts []string, trusted []byte) (state, bool, error) {
	changed := false
	var err error
	if s.signer == nil || endsSoon(s.signer, now) {
		if s, err = s.withNewSigner(now); err != nil {
			return s, false, err
		}
		changed = true
	}
	if kept := stillValid(s.bundle, now); len(kept) != len(s.bundle) {
		s.bundle, changed = kept, true
	}
	mayServe := s.leaf != nil && now.Before(s.leaf.NotAfter)
	hubTrusts := trusts(trusted, s.signer) && now.After(s.signer.NotBefore.Add(backdate+settle))
	if s.needsLeaf(now, hosts) && (!mayServe || hubTrusts) {
		if s, err = s.withNewLeaf(now, hosts); err != nil {
			return s, false, err
		}
		changed = true
	}
	return s, changed, nil
}

func (s state) needsLeaf(now time.Time, hosts []string) bool {
	if s.leaf == nil || endsSoon(s.leaf, now) || s.leaf.CheckSignatureFrom(s.signer) != nil {
		return true
	}
	for _, host := range hosts {
		if s.leaf.VerifyHostname(host) != nil {
			return true
		}
	}
	return false
}

func stillValid(bundle []*x509.Certificate, now time.Time) []*x509.Certificate {
	var kept []*x509.Certificate
	for _, c := range bundle {
		if now.Before(c.NotAfter) {
			kept = append(kept, c)
		}
	}
	return kept
}

// trusts says whether a bundle in PEM holds a CA.
func trusts(bundle []byte, ca *x509.Certificate) bool {
	certs, err := cert.ParseCertsPEM(bundle)
	if err != nil {
		return false
	}
	for _, c := range certs {
		if bytes.Equal(c.Raw, ca.Raw) {
			return true
		}
	}
	return false
}

func (s state) withNewSigner(now time.Time) (state, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return s, err
	}
	// Two CAs of one subject would be tried for each other's certificates, so each has a name of its own.
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: fmt.Sprintf("binnacle-serving-ca@%d", now.Unix())},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	ca, err := sign(template, nil, key, key, now, caLifetime)
	if err != nil {
		return s, err
	}
	s.signer, s.signerKey = ca, key
	s.bundle = append([]*x509.Certificate{ca}, s.bundle...)
	return s, nil
}

func (s state) withNewLeaf(now time.Time, hosts []string) (state, error) {
	if len(hosts) == 0 {
		return s, errors.New("no name to serve under")
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return s, err
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: hosts[0]},
		DNSNames:    hosts,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	leaf, err := sign(template, s.signer, key, s.signerKey, now, leafLifetime)
	if err != nil {
		return s, err
	}
	if s.leafPEM, err = cert.EncodeCertificates(leaf); err != nil {
		return s, err
	}
	s.keyPEM, err = keyutil.MarshalPrivateKeyToPEM(key)
	s.leaf = leaf
	return s, err
}

// sign issues a certificate for a key. Without a parent it signs itself.
func sign(template, parent *x509.Certificate, key *ecdsa.PrivateKey, signer crypto.Signer, now time.Time, lifetime time.Duration) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	template.NotBefore, template.NotAfter = now.Add(-backdate), now.Add(lifetime)
	if parent == nil {
		parent = template
	} else if template.NotAfter.After(parent.NotAfter) {
		template.NotAfter = parent.NotAfter
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}
