package standalone

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"
)

// TestKubeconfigIsUsable reaches a server that has the serving certificate and asks for one of the same CA.
func TestKubeconfigIsUsable(t *testing.T) {
	pki := ensure(t, t.TempDir())
	serving, err := tls.LoadX509KeyPair(pki.ServerFiles())
	if err != nil {
		t.Fatal(err)
	}
	clients, err := cert.NewPool(pki.CAFile())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = w.Write([]byte(req.TLS.PeerCertificates[0].Subject.CommonName))
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{serving}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients}
	server.StartTLS()
	defer server.Close()

	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := pki.WriteKubeconfig(path, strings.TrimPrefix(server.URL, "https://")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; it holds a key", info.Mode(), err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Get(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body := make([]byte, 64)
	n, _ := response.Body.Read(body)
	if got := string(body[:n]); got != "binnacle-admin" {
		t.Errorf("the server sees %q", got)
	}
}

// TestOldKubeconfigSurvivesRenewal verifies a renewed serving certificate with the CA that an old kubeconfig holds.
func TestOldKubeconfigSurvivesRenewal(t *testing.T) {
	dir := t.TempDir()
	pki := ensure(t, dir)
	path := filepath.Join(dir, "kubeconfig")
	if err := pki.WriteKubeconfig(path, "127.0.0.1:7443"); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(config.Clusters["binnacle"].CertificateAuthorityData) {
		t.Fatal("the kubeconfig has no CA")
	}
	old := load(t, pki, "server")
	ensure(t, dir, "new.example.com")
	renewed := load(t, pki, "server")
	if renewed.Equal(old) {
		t.Fatal("not renewed")
	}
	if _, err := renewed.Verify(x509.VerifyOptions{Roots: roots, DNSName: "new.example.com"}); err != nil {
		t.Error(err)
	}
}

func TestPortOf(t *testing.T) {
	pki := ensure(t, t.TempDir())
	written := func(address string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := pki.WriteKubeconfig(path, address); err != nil {
				t.Fatal(err)
			}
		}
	}
	content := func(text string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := []struct {
		name  string
		write func(*testing.T, string)
		want  int
	}{
		{"of ours", written("127.0.0.1:7443"), 7443},
		{"IPv6", written("[2001:db8::1]:65535"), 65535},
		{"name", written("binnacle.example.com:443"), 443},
		{"without a port", written("binnacle.example.com"), 0},
		{"missing", func(*testing.T, string) {}, 0},
		{"empty", content(""), 0},
		{"no YAML", content("{"), 0},
		{"of somebody else", content("apiVersion: v1\nkind: Config\nclusters: [{name: other, cluster: {server: 'https://a:1'}}]\n"), 0},
		{"no URL", content("apiVersion: v1\nkind: Config\nclusters: [{name: binnacle, cluster: {server: '%zz'}}]\n"), 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "kubeconfig")
			test.write(t, path)
			if got := PortOf(path); got != test.want {
				t.Errorf("port %d, want %d", got, test.want)
			}
		})
	}
}
