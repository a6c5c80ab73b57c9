package standalone

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// Names under which kubeconfig and certificates know the server and its administrator.
const (
	contextName = "binnacle"
	adminName   = "binnacle-admin"
	// adminGroup may do everything. It is not system:masters, which the generic server also exempts from the in-flight limits.
	adminGroup = "binnacle-administrators"
)

// leafLifetime is how long a certificate is valid. A start in its last third makes new ones from the same CA, so that clients with the
// old kubeconfig keep trusting the server.
const leafLifetime = 365 * 24 * time.Hour

// PKI is the files of a standalone server's identity.
type PKI struct{ dir string }

// CAFile is the certificate that signs the server's and the administrator's.
func (p PKI) CAFile() string { return p.path("ca.crt") }

// ServerFiles are the serving certificate and its key.
func (p PKI) ServerFiles() (certFile, keyFile string) {
	return p.path("server.crt"), p.path("server.key")
}

func (p PKI) path(name string) string { return filepath.Join(p.dir, name) }

// EnsurePKI makes what is missing of the identity in dir: the CA once, and certificates for localhost, the loopback addresses and the
// given hosts.
func EnsurePKI(dir string, hosts []string) (PKI, error) {
	p := PKI{dir}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return p, err
	}
	ca, key, err := p.ensureCA()
	if err != nil {
		return p, fmt.Errorf("the CA in %s: %w", dir, err)
	}
	server := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "binnacle-apiserver"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			server.IPAddresses = append(server.IPAddresses, ip)
		} else {
			server.DNSNames = append(server.DNSNames, host)
		}
	}
	admin := &x509.Certificate{
		Subject:     pkix.Name{CommonName: adminName, Organization: []string{adminGroup}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for name, template := range map[string]*x509.Certificate{"server": server, "admin": admin} {
		if err := p.ensureLeaf(name, template, ca, key); err != nil {
			return p, fmt.Errorf("the %s certificate in %s: %w", name, dir, err)
		}
	}
	return p, nil
}

func (p PKI) ensureCA() (*x509.Certificate, crypto.Signer, error) {
	ca, signer, err := p.load("ca")
	if err == nil {
		return ca, signer, nil
	}
	// A key without a certificate is what a start leaves that was cut short; a certificate means that clients may trust it.
	if _, statErr := os.Stat(p.path("ca.crt")); !errors.Is(statErr, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%w; restore it, or remove ca.crt for a new CA, which clients with an old kubeconfig will not trust", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	ca, err = cert.NewSelfSignedCACert(cert.Config{CommonName: "binnacle-standalone"}, key)
	if err != nil {
		return nil, nil, err
	}
	return ca, key, p.save("ca", ca, key)
}

func (p PKI) ensureLeaf(name string, template, ca *x509.Certificate, caKey crypto.Signer) error {
	old, _, err := p.load(name)
	if err == nil && old.CheckSignatureFrom(ca) == nil && stillGood(old, template) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return err
	}
	now := time.Now()
	template.NotBefore, template.NotAfter = now.Add(-5*time.Minute), now.Add(leafLifetime)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, ca, key.Public(), caKey)
	if err != nil {
		return err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return err
	}
	return p.save(name, leaf, key)
}

// stillGood says whether a certificate names whom and covers what is wanted, and has more than a third of its life before it.
func stillGood(old, wanted *x509.Certificate) bool {
	if old.Subject.String() != wanted.Subject.String() {
		return false
	}
	for _, name := range wanted.DNSNames {
		if old.VerifyHostname(name) != nil {
			return false
		}
	}
	for _, ip := range wanted.IPAddresses {
		if old.VerifyHostname(ip.String()) != nil {
			return false
		}
	}
	return time.Until(old.NotAfter) > leafLifetime/3
}

func (p PKI) load(name string) (*x509.Certificate, crypto.Signer, error) {
	certs, err := cert.CertsFromFile(p.path(name + ".crt"))
	if err != nil {
		return nil, nil, err
	}
	key, err := keyutil.PrivateKeyFromFile(p.path(name + ".key"))
	if err != nil {
		return nil, nil, err
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, nil, fmt.Errorf("the key of %s cannot sign", name)
	}
	return certs[0], signer, nil
}

// save writes the key before the certificate: a certificate on disk means that both are.
func (p PKI) save(name string, certificate *x509.Certificate, key crypto.PrivateKey) error {
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return err
	}
	certPEM, err := cert.EncodeCertificates(certificate)
	if err != nil {
		return err
	}
	if err := writeFile(p.path(name+".key"), keyPEM); err != nil {
		return err
	}
	return writeFile(p.path(name+".crt"), certPEM)
}

// writeFile replaces a file at once, readable by its owner only: a crash leaves the old one or the new one.
func writeFile(path string, data []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	if _, err := file.Write(data); err != nil {
		file.Close()
		return err
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// WriteKubeconfig writes the administrator's kubeconfig for a server on the given address.
func (p PKI) WriteKubeconfig(path, address string) error {
	config := clientcmdapi.NewConfig()
	files := map[string][]byte{"ca.crt": nil, "admin.crt": nil, "admin.key": nil}
	for name := range files {
		data, err := os.ReadFile(p.path(name))
		if err != nil {
			return err
		}
		files[name] = data
	}
	config.Clusters[contextName] = &clientcmdapi.Cluster{Server: "https://" + address, CertificateAuthorityData: files["ca.crt"]}
	config.AuthInfos[adminName] = &clientcmdapi.AuthInfo{ClientCertificateData: files["admin.crt"], ClientKeyData: files["admin.key"]}
	config.Contexts[contextName] = &clientcmdapi.Context{Cluster: contextName, AuthInfo: adminName}
	config.CurrentContext = contextName
	data, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	return writeFile(path, data)
}

// PortOf returns the port that a kubeconfig of ours names, 0 where there is none.
func PortOf(path string) int {
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return 0
	}
	cluster, ok := config.Clusters[contextName]
	if !ok {
		return 0
	}
	return portOfURL(cluster.Server)
}
