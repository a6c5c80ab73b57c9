package integration

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/client-go/rest"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// file writes a file for a flag and returns its path.
func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// externalEtcd starts an etcd of its own for a server, and a client of it.
func externalEtcd(t *testing.T) (*framework.Etcd, *clientv3.Client) {
	t.Helper()
	return etcdWith(t, framework.EtcdOptions{})
}

func etcdWith(t *testing.T, o framework.EtcdOptions) (*framework.Etcd, *clientv3.Client) {
	t.Helper()
	o.Dir = t.TempDir()
	etcd, err := framework.StartEtcd(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = etcd.Stop() })
	config, err := rest.TLSConfigFor(etcd.Config())
	if err != nil {
		t.Fatal(err)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd.URL}, TLS: config})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return etcd, client
}

// stored returns what lies in etcd under our prefix, by key.
func stored(t *testing.T, client *clientv3.Client, prefix string) map[string]string {
	t.Helper()
	resp, err := client.Get(t.Context(), prefix, clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, kv := range resp.Kvs {
		found[string(kv.Key)] = string(kv.Value)
	}
	return found
}

// decompressed returns what a value in etcd holds, and whether it was compressed.
func decompressed(t *testing.T, value string) (string, bool) {
	t.Helper()
	if !strings.HasPrefix(value, "\x28\xb5\x2f\xfd") { // RFC 8878, section 3.1.1
		return value, false
	}
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	plain, err := decoder.DecodeAll([]byte(value), nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(plain), true
}

// TestStorageFlags looks into etcd: where objects lie, in which encoding, and encrypted where that is asked for.
func TestStorageFlags(t *testing.T) {
	const (
		key      = "/multicluster.x-k8s.io/clusterprofiles/any-namespace/a"
		protobuf = "k8s\x00\n0\n\x1e"
	)
	encryption := file(t, "encryption.yaml", `
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [clusterprofiles.multicluster.x-k8s.io]
  providers:
  - secretbox: {keys: [{name: k1, secret: YWJjZGVmZ2hpamtsbW5vcGFiY2RlZmdoaWprbG1ub3A=}]}
`)
	for _, c := range []struct {
		name   string
		flags  []string
		prefix string
		starts string
		shows  bool // the object in clear
		packed bool // compressed
	}{
		{"defaults", nil, "/registry/binnacle", protobuf + "multicluster.x-k8s.io/v1alpha1\x12\x0eClusterProfile", true, true},
		{"--etcd-prefix", []string{"--etcd-prefix=/elsewhere"}, "/elsewhere", protobuf, true, true},
		{"--storage-media-type", []string{"--storage-media-type=application/json"}, "/registry/binnacle", `{"kind":"ClusterProfile","apiVersion":"multicluster.x-k8s.io/v1alpha1"`, true, true},
		{"--encryption-provider-config", []string{"--encryption-provider-config=" + encryption}, "/registry/binnacle", "k8s:enc:secretbox:v1:k1:", false, false},
		{"StorageCompression=false", []string{"--feature-gates=binnacle:StorageCompression=false"}, "/registry/binnacle", protobuf, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			etcd, client := externalEtcd(t)
			s := startStandalone(t, framework.ServerOptions{Etcd: etcd, Flags: c.flags})
			w := standaloneCaller(t, s)
			w.must(post("clusterprofiles", profileNamed("a", `,"spec":{"displayName":"in clear text","clusterManager":{"name":"m"}}`)))
			value, packed := decompressed(t, stored(t, client, c.prefix)[c.prefix+key])
			if !strings.HasPrefix(value, c.starts) || strings.Contains(value, "in clear text") != c.shows || packed != c.packed {
				t.Errorf("%s holds %q, compressed: %t", c.prefix+key, value, packed)
			}
			if a := w.must(get("clusterprofiles/a")); a.field("spec", "displayName") != "in clear text" {
				t.Errorf("read back: %s", a.raw)
			}
		})
	}
}

// TestEgressAndTracing lets the server reach etcd through a proxy, and send its traces.
func TestEgressAndTracing(t *testing.T) {
	etcd, _ := externalEtcd(t)
	proxied, socket := connectProxy(t)
	traces, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { traces.Close() })
	traced := make(chan struct{}, 1)
	go func() {
		for {
			conn, err := traces.Accept()
			if err != nil {
				return
			}
			conn.Close()
			select {
			case traced <- struct{}{}:
			default:
			}
		}
	}()
	egress := file(t, "egress.yaml", `
apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: etcd
  connection: {proxyProtocol: HTTPConnect, transport: {uds: {udsName: `+socket+`}}}
`)
	tracing := file(t, "tracing.yaml", `
apiVersion: apiserver.config.k8s.io/v1
kind: TracingConfiguration
endpoint: `+traces.Addr().String()+`
samplingRatePerMillion: 1000000
`)
	s := startStandalone(t, framework.ServerOptions{Etcd: etcd, Flags: []string{"--egress-selector-config-file=" + egress, "--tracing-config-file=" + tracing}})
	standaloneCaller(t, s).must(post("clusterprofiles", profileNamed("a", managed)))
	if proxied.Load() == 0 {
		t.Error("etcd was reached past the proxy")
	}
	select {
	case <-traced:
	case <-time.After(requestTimeout):
		t.Error("no trace was sent")
	}
}

// connectProxy is an HTTP CONNECT proxy on a unix socket that counts what it connects.
func connectProxy(t *testing.T) (*atomic.Int32, string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "egress-") // A socket path is short.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	var count atomic.Int32
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				reader := bufio.NewReader(conn)
				req, err := http.ReadRequest(reader)
				if err != nil || req.Method != http.MethodConnect {
					return
				}
				target, err := net.Dial("tcp", req.Host)
				if err != nil {
					return
				}
				defer target.Close()
				count.Add(1)
				fmt.Fprint(conn, "HTTP/1.1 200 Connection established\r\n\r\n")
				go func() { _, _ = io.Copy(target, reader) }()
				_, _ = io.Copy(conn, target)
			}()
		}
	}()
	return &count, socket
}

// TestAudit wants an entry with the caller and the bodies of a write.
func TestAudit(t *testing.T) {
	policy := file(t, "policy.yaml", `
apiVersion: audit.k8s.io/v1
kind: Policy
rules:
- level: RequestResponse
  resources: [{group: multicluster.x-k8s.io}]
- level: None
`)
	log := filepath.Join(t.TempDir(), "audit.log")
	s := startStandalone(t, framework.ServerOptions{Flags: []string{"--audit-policy-file=" + policy, "--audit-log-path=" + log}})
	standaloneCaller(t, s).must(post("clusterprofiles", profileNamed("a", managed)))
	eventually(t, "audit entry", func() bool {
		text, err := os.ReadFile(log)
		return err == nil && strings.Contains(string(text), `"username":"binnacle-admin"`) && strings.Contains(string(text), `"verb":"create"`) &&
			strings.Contains(string(text), `"requestObject":{"kind":"ClusterProfile"`) && strings.Contains(string(text), `"responseObject":{"kind":"ClusterProfile"`)
	})
}

// TestInFlightLimit wants 429 for writes past the in-flight limit, and success for the same writes without it.
func TestInFlightLimit(t *testing.T) {
	for limit, refused := range map[int]bool{1: true, 1000: false} {
		s := startStandalone(t, framework.ServerOptions{Flags: []string{fmt.Sprint("--max-mutating-requests-inflight=", limit)}})
		c := standaloneCaller(t, s)
		var tooMany atomic.Int32
		var wg sync.WaitGroup
		for writer := range 16 {
			wg.Go(func() {
				for i := range 20 {
					if a := c.do(post("placementdecisions", decisionNamed(fmt.Sprintf("d-%d-%d", writer, i), `,"decisions":`+decisionList(100)))); a.code == http.StatusTooManyRequests {
						tooMany.Add(1)
					}
				}
			})
		}
		wg.Wait()
		if (tooMany.Load() > 0) != refused {
			t.Errorf("limit %d: %d writes were refused", limit, tooMany.Load())
		}
	}
}

// TestFairness wants priority and fairness at work on a hub unless it is switched off.
func TestFairness(t *testing.T) {
	off, err := hub.StartReplica(t.Context(), framework.ServerOptions{Name: "without-fairness", Flags: []string{"--enable-priority-and-fairness=false"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = off.Stop() }()
	for s, on := range map[*framework.Server]bool{server: true, off: false} {
		c := newCaller(t, s.ConfigFor("admin", framework.AdminGroup), ours, "default", "v1alpha2")
		if got := c.must(get("clusterprofiles")).header.Get("X-Kubernetes-Pf-Flowschema-Uid") != ""; got != on {
			t.Errorf("fairness %t, want %t", got, on)
		}
	}
}

// TestGatesAndVersions switches off what can be switched off.
func TestGatesAndVersions(t *testing.T) {
	s := startStandalone(t, framework.ServerOptions{Flags: []string{"--feature-gates=binnacle:CustomResourceErrors=false", "--runtime-config=multicluster.x-k8s.io/v1alpha1=false"}})
	c := standaloneCaller(t, s)
	if a := c.do(post("clusterprofiles", profileNamed("a", `,"spec":{"clusterManager":{"name":5}}`))); a.code != http.StatusBadRequest {
		t.Errorf("without the gate a wrong type is %s", a.summary())
	}
	if a := c.do(applyAs("m", "clusterprofiles/a", profileNamed("a", managed))); a.code != http.StatusCreated {
		t.Errorf("apply: %s", a.summary())
	}
	if a := c.do(get("/apis/GROUP/v1alpha1/clusterprofiles")); a.code != http.StatusNotFound {
		t.Errorf("v1alpha1 is off and answers %s", a.summary())
	}
	c.must(get("clusterprofiles"))
}

// TestGracefulShutdown keeps serving, but not ready, for the delay, and then refuses with Retry-After.
func TestGracefulShutdown(t *testing.T) {
	const delay = 6 * time.Second
	s := startStandalone(t, framework.ServerOptions{Flags: []string{"--shutdown-delay-duration=" + delay.String(), "--shutdown-send-retry-after=true"}})
	c := standaloneCaller(t, s)
	c.must(get("clusterprofiles"))
	stopping := time.Now()
	if err := syscall.Kill(s.PID(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, "not ready", func() bool { return time.Since(stopping) < delay && c.do(get("/readyz")).code != http.StatusOK })
	c.must(post("clusterprofiles", profileNamed("late", managed)))
	select {
	case <-s.Exited():
	case <-time.After(requestTimeout):
		t.Fatal("the server does not stop")
	}
	if took := time.Since(stopping); took < delay {
		t.Errorf("stopped after %s, before the delay of %s", took, delay)
	}
}

// TestServingFlags wants the certificate that is named, and HTTP/1.1 where HTTP/2 is off.
func TestServingFlags(t *testing.T) {
	dir := t.TempDir()
	ca, err := framework.NewCA(dir, "own-ca")
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile, err := ca.IssueFiles(framework.Leaf{CommonName: "own", Hosts: []string{"127.0.0.1"}}, dir, "own")
	if err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	// The administrator's kubeconfig trusts the server's own CA, which has not signed this certificate; so the process is run directly.
	runServer(t, "--standalone", "--data-dir="+t.TempDir(), "--bind-address=127.0.0.1", fmt.Sprint("--secure-port=", port),
		"--tls-cert-file="+certFile, "--tls-private-key-file="+keyFile, "--disable-http2-serving=true")
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.PEM())
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}}
	eventually(t, "ready", func() bool {
		resp, err := client.Get(fmt.Sprintf("https://127.0.0.1:%d/readyz", port))
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK && resp.ProtoMajor == 1 && resp.TLS.PeerCertificates[0].Subject.CommonName == "own"
	})
}
