// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const certLifetime = 365 * 24 * time.Hour

// CA signs the certificates of one purpose: those that clients show, those that servers show, those of the front proxy, or etcd's.
type CA struct {
	// CertFile holds the certificate of the CA.
	CertFile string

	cert *x509.Certificate
	key  crypto.Signer
}

// Leaf describes a certificate to be signed. Without hosts it is for a client.
type Leaf struct {
	CommonName   string
	Organization []string
	// Hosts are the DNS names and IP addresses of a server.
	Hosts []string
	// Lifetime is how long from now it is valid, which may be in the past. Default: a year.
	Lifetime time.Duration
}

// NewCA returns the CA whose files are dir/name.crt and dir/name.key, and makes it where it does not exist.
func NewCA(dir, name string) (*CA, error) {
	ca := &CA{CertFile: filepath.Join(dir, name+".crt")}
	key, err := loadOrMakeKey(filepath.Join(dir, name+".key"))
	if err != nil {
		return nil, err
	}
	ca.key = key
	certs, err := certutil.CertsFromFile(ca.CertFile)
	if err == nil {
		ca.cert = certs[0]
		return ca, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if ca.cert, err = certutil.NewSelfSignedCACert(certutil.Config{CommonName: "binnacle-hub-" + name}, key); err != nil {
		return nil, err
	}
	return ca, writeFile(ca.CertFile, ca.PEM(), 0o644)
}

// PEM returns the certificate of the CA.
func (ca *CA) PEM() []byte { return certPEM(ca.cert.Raw) }

// Issue signs a certificate for a new key and returns both, PEM encoded.
func (ca *CA) Issue(leaf Leaf) (cert, key []byte, err error) {
	if key, err = keyutil.MakeEllipticPrivateKeyPEM(); err != nil {
		return nil, nil, err
	}
	private, err := keyutil.ParsePrivateKeyPEM(key)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, nil, err
	}
	if leaf.Lifetime == 0 {
		leaf.Lifetime = certLifetime
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: leaf.CommonName, Organization: leaf.Organization},
		NotBefore:    time.Now().Add(min(leaf.Lifetime, 0) - time.Minute),
		NotAfter:     time.Now().Add(leaf.Lifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, host := range leaf.Hosts {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, private.(crypto.Signer).Public(), ca.key)
	if err != nil {
		return nil, nil, fmt.Errorf("sign a certificate for %q: %w", leaf.CommonName, err)
	}
	return certPEM(der), key, nil
}

// IssueFiles signs a certificate and writes dir/name.crt and dir/name.key.
func (ca *CA) IssueFiles(leaf Leaf, dir, name string) (certFile, keyFile string, err error) {
	cert, key, err := ca.Issue(leaf)
	if err != nil {
		return "", "", err
	}
	certFile, keyFile = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	return certFile, keyFile, errors.Join(writeFile(certFile, cert, 0o644), writeFile(keyFile, key, 0o600))
}

func certPEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: certutil.CertificateBlockType, Bytes: der})
}

func loadOrMakeKey(path string) (crypto.Signer, error) {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		data, err := keyutil.MarshalPrivateKeyToPEM(key)
		if err != nil {
			return nil, err
		}
		return key, writeFile(path, data, 0o600)
	}
	key, err := keyutil.PrivateKeyFromFile(path)
	if err != nil {
		return nil, err
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("%s: a %T cannot sign", path, key)
	}
	return signer, nil
}

func writeFile(path string, data []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, mode)
}

func publicKeyPEM(key crypto.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: keyutil.PublicKeyBlockType, Bytes: der}), nil
}
