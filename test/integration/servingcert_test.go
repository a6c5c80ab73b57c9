package integration

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	apiregistration "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// TestManagedServingCert lets two replicas share a certificate that they make themselves, and replaces certificate and CA under load:
// no call through the hub fails. It has a hub of its own, since it changes whom the hub trusts.
func TestManagedServingCert(t *testing.T) {
	t.Parallel() // It mostly waits.
	ctx := t.Context()
	own, err := framework.StartHub(ctx, framework.HubOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = own.Stop() })
	root, err := framework.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := own.Kubectl(ctx, "apply", "--server-side", "-k", filepath.Join(root, "artifacts", "overlays", "managed-certificate")); err != nil {
		t.Fatal(err)
	}
	identity, err := own.ServiceAccountConfig(ctx, framework.Namespace, framework.ServiceAccount)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := framework.WriteKubeconfig(kubeconfig, identity); err != nil {
		t.Fatal(err)
	}
	var ports []int
	for range 2 {
		port := freePort(t)
		ports = append(ports, port)
		runServer(t, append(own.Etcd.Flags(), "--data-dir="+t.TempDir(), "--bind-address=127.0.0.1", fmt.Sprint("--secure-port=", port), "--kubeconfig="+kubeconfig,
			"--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig, "--serving-cert-secret=binnacle-system/binnacle-serving-cert")...)
		eventually(t, "ready", func() bool {
			code, _ := readyz(t, port)
			return code == http.StatusOK
		})
	}
	balancer, err := framework.NewBalancer(ports...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = balancer.Close() })
	// Registration brings a CA that is not theirs; they put theirs in its place.
	if err := own.Register(ctx, balancer.Port); err != nil {
		t.Fatal(err)
	}

	secrets := kubernetes.NewForConfigOrDie(own.AdminConfig()).CoreV1().Secrets(framework.Namespace)
	services := apiregistration.NewForConfigOrDie(own.AdminConfig()).APIServices()
	content := func() map[string][]byte {
		secret, err := secrets.Get(context.WithoutCancel(ctx), "binnacle-serving-cert", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return secret.Data
	}
	remove := func(keys ...string) {
		eventually(t, "the Secret to be changed", func() bool {
			secret, err := secrets.Get(ctx, "binnacle-serving-cert", metav1.GetOptions{})
			if err != nil {
				return false
			}
			for _, key := range keys {
				delete(secret.Data, key)
			}
			_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
			return err == nil
		})
	}

	stop, failures := loadThrough(t, own, balancer.Port)
	first := content()
	remove("tls.crt", "tls.key")
	within(t, 3*time.Minute, "another certificate", func() bool {
		now := content()
		return len(now["tls.crt"]) > 0 && string(now["tls.crt"]) != string(first["tls.crt"]) && string(now["signer.crt"]) == string(first["signer.crt"])
	})
	second := content()
	remove("signer.crt", "signer.key")
	within(t, 3*time.Minute, "a certificate by another CA", func() bool {
		now := content()
		return len(now["signer.crt"]) > 0 && string(now["signer.crt"]) != string(first["signer.crt"]) && string(now["tls.crt"]) != string(second["tls.crt"]) && signedBy(t, now["tls.crt"], now["signer.crt"])
	})
	within(t, time.Minute, "the hub to trust both CAs", func() bool {
		service, err := services.Get(ctx, "v1alpha2."+ours, metav1.GetOptions{})
		return err == nil && string(service.Spec.CABundle) == string(content()["ca.crt"]) && certificates(service.Spec.CABundle) == 2
	})
	sent := stop()
	t.Logf("%d calls during the change of certificate and CA, %d failed", sent, failures.Load())
	if failures.Load() > 0 || sent < 100 {
		t.Errorf("%d of %d calls failed", failures.Load(), sent)
	}
}

// loadThrough reads through a hub until it is told to stop, and beside it asks for health over a new connection each time, trusting
// what the hub trusts at that moment: the hub itself keeps its connections.
func loadThrough(t *testing.T, own *framework.Hub, port int) (stop func() int64, failures *atomic.Int64) {
	t.Helper()
	client, err := rest.HTTPClientFor(own.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	services := apiregistration.NewForConfigOrDie(own.AdminConfig()).APIServices()
	ctx, cancel := context.WithCancel(t.Context())
	throughHub := func() (*http.Response, error) {
		return client.Get(own.URL() + "/apis/" + ours + "/v1alpha2/clusterprofiles")
	}
	anew := func() (*http.Response, error) {
		service, err := services.Get(context.WithoutCancel(ctx), "v1alpha2."+ours, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(service.Spec.CABundle)
		transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: framework.Service + "." + framework.Namespace + ".svc"}}
		return (&http.Client{Transport: transport}).Get(fmt.Sprintf("https://127.0.0.1:%d/readyz", port))
	}
	var sent atomic.Int64
	failures = &atomic.Int64{}
	var wg sync.WaitGroup
	for _, call := range []func() (*http.Response, error){throughHub, throughHub, anew, anew} {
		wg.Go(func() {
			tick := time.NewTicker(50 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
				resp, err := call()
				sent.Add(1)
				if err != nil {
					failures.Add(1)
					t.Log(err)
					continue
				}
				resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					failures.Add(1)
					t.Log(resp.Status)
				}
			}
		})
	}
	return func() int64 {
		cancel()
		wg.Wait()
		return sent.Load()
	}, failures
}

func signedBy(t *testing.T, leafPEM, caPEM []byte) bool {
	t.Helper()
	leaf, ca := parseCertificate(t, leafPEM), parseCertificate(t, caPEM)
	return leaf.CheckSignatureFrom(ca) == nil
}

func parseCertificate(t *testing.T, data []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(data)
	if block == nil {
		t.Fatal("no certificate")
	}
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func certificates(data []byte) int {
	n := 0
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		n++
	}
	return n
}
