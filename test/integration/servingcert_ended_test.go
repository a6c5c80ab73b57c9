package integration

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// TestEndedServingCertificate starts with a certificate that has ended: the log says so once, and a valid one is taken without a restart.
func TestEndedServingCertificate(t *testing.T) {
	leaf := framework.Leaf{CommonName: "server", Hosts: []string{"127.0.0.1"}, Lifetime: -time.Hour}
	cert, key := issue(t, hub.ServingCA, leaf)
	certFile, keyFile := file(t, "tls.crt", string(cert)), file(t, "tls.key", string(key))
	kubeconfig := throughProxy(t, func(proxied http.Handler, w http.ResponseWriter, req *http.Request) { proxied.ServeHTTP(w, req) })
	port := freePort(t)
	var log lockedBuffer
	cmd := exec.CommandContext(t.Context(), binary(t), "--data-dir="+t.TempDir(), "--bind-address=127.0.0.1", fmt.Sprint("--secure-port=", port), "--kubeconfig="+kubeconfig,
		"--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig, "--tls-cert-file="+certFile, "--tls-private-key-file="+keyFile)
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	eventually(t, "ready", func() bool {
		code, _ := readyz(t, port)
		return code == http.StatusOK
	})
	if said := strings.Count(log.String(), "the certificate has ended"); said != 1 {
		t.Errorf("said %d times that the certificate has ended:\n%s", said, log.String())
	}
	checked := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: x509.NewCertPool()}}}
	checked.Transport.(*http.Transport).TLSClientConfig.RootCAs.AppendCertsFromPEM(hub.ServingCA.PEM())
	ask := func() error {
		resp, err := checked.Get(fmt.Sprintf("https://127.0.0.1:%d/readyz", port))
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	if err := ask(); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Fatalf("whoever checks the certificate is told %v", err)
	}
	leaf.Lifetime = time.Hour
	cert, key = issue(t, hub.ServingCA, leaf)
	replace(t, keyFile, key)
	replace(t, certFile, cert)
	within(t, rotationPatience, "the valid certificate to be served", func() bool { return ask() == nil })
}

// lockedBuffer may be read while a process writes into it.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(data)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
