package integration

import (
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// rotationPatience is how long a replaced file may take to count: client-go reads a token anew after a minute.
const rotationPatience = 2 * time.Minute

// TestRotation replaces, under load and without a restart, the CAs by which the hub and its users show who they are, the serving
// certificates, the server's token and its client certificate at etcd. No call fails (apiserver-guide D21, D22; cases.md, 45).
func TestRotation(t *testing.T) {
	dir := t.TempDir()
	auditLog := filepath.Join(dir, "audit.log")
	policy := file(t, "policy.yaml", `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [
{"level": "Metadata", "users": ["system:serviceaccount:binnacle-system:binnacle-apiserver"]}, {"level": "None"}]}`)
	r := startOwnHub(t, framework.HubOptions{APIServerFlags: []string{"--audit-policy-file=" + policy, "--audit-log-path=" + auditLog, "--vmodule=dynamic_serving_content=2"}}, 2)
	load := startWriters(t, r.AdminConfig(), r.namespaces(t, 10))
	for _, step := range []struct {
		name   string
		rotate func(*testing.T, ownHub)
	}{
		{"CA and certificate of the front proxy", rotateFrontProxy},
		{"CA of the users", rotateClientCA},
		{"serving certificates", rotateServing},
		{"token", func(t *testing.T, r ownHub) { rotateToken(t, r, auditLog) }},
		{"client certificate at etcd", rotateEtcdClient},
	} {
		t.Run(step.name, func(t *testing.T) {
			step.rotate(t, r)
			before := load.done.Load()
			eventually(t, "writes to go on", func() bool { return load.done.Load() > before+50 })
			if failed := load.failed.Load(); failed > 0 {
				t.Errorf("%d of %d writes failed", failed, failed+load.done.Load())
			}
		})
	}
	load.stop()
	t.Logf("%d writes, %d failed", load.done.Load(), load.failed.Load())
	t.Run("the certificate in the file is the one that etcd sees", func(t *testing.T) { wrongEtcdClient(t, r) })
}

// replace puts another content in the place of a file at once, as kubelet does in a volume.
func replace(t *testing.T, path string, content []byte) {
	t.Helper()
	temporary := path + ".new"
	if err := os.WriteFile(temporary, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temporary, path); err != nil {
		t.Fatal(err)
	}
}

func newCA(t *testing.T) *framework.CA {
	t.Helper()
	ca, err := framework.NewCA(t.TempDir(), "another-ca")
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// logged says whether a process of a hub has said something in its log.
func logged(t *testing.T, on *framework.Hub, process, text string) bool {
	t.Helper()
	log, err := os.ReadFile(filepath.Join(on.Dir(), "logs", process+".log"))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Contains(log, []byte(text))
}

func issue(t *testing.T, ca *framework.CA, leaf framework.Leaf) (cert, key []byte) {
	t.Helper()
	cert, key, err := ca.Issue(leaf)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

// asking returns what a replica answers to whoever shows a certificate, over a new connection, with headers of a front proxy.
func asking(t *testing.T, r ownHub, cert, key []byte, header http.Header) (codes []int) {
	t.Helper()
	for _, replica := range r.replicas {
		transport, err := rest.TransportFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: r.ServingCA.PEM(), CertData: cert, KeyData: key}})
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, replica.URL()+"/apis/"+ours+"/v1alpha2/clusterprofiles?limit=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header, req.Close = header.Clone(), true
		resp, err := (&http.Client{Transport: transport}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		codes = append(codes, resp.StatusCode)
	}
	return codes
}

func all(codes []int, want int) bool {
	for _, code := range codes {
		if code != want {
			return false
		}
	}
	return len(codes) > 0
}

func rotateFrontProxy(t *testing.T, r ownHub) {
	another := newCA(t)
	leaf := framework.Leaf{CommonName: "front-proxy-client"}
	cert, key := issue(t, another, leaf)
	oldCert, oldKey := issue(t, r.FrontProxyCA, leaf)
	header := http.Header{"X-Remote-User": {"somebody"}, "X-Remote-Group": {framework.AdminGroup}}
	if codes := asking(t, r, cert, key, header); !all(codes, http.StatusUnauthorized) {
		t.Fatalf("an unknown CA vouches for headers: %v", codes)
	}
	if codes := asking(t, r, oldCert, oldKey, header); !all(codes, http.StatusOK) {
		t.Fatalf("the front proxy is refused: %v", codes)
	}
	replace(t, r.FrontProxyCA.CertFile, append(r.FrontProxyCA.PEM(), another.PEM()...))
	within(t, rotationPatience, "the replicas to trust the new CA", func() bool { return all(asking(t, r, cert, key, header), http.StatusOK) })

	before := r.balancer.Accepted()
	files := filepath.Join(r.Dir(), "pki", "front-proxy-client")
	replace(t, files+".key", key)
	replace(t, files+".crt", cert)
	// What the hub shows is hidden in TLS; but it says when it has read the files, and then makes new connections.
	within(t, rotationPatience, "the hub to show its new certificate", func() bool {
		return logged(t, r.Hub, "kube-apiserver", `"Loaded a new cert/key pair" name="aggregator-proxy-cert`) && r.balancer.Accepted() > before
	})
	replace(t, r.FrontProxyCA.CertFile, another.PEM())
	// The hub only adds to what it publishes: somebody has to take out the CA that shall not count any more.
	published := kubernetes.NewForConfigOrDie(r.AdminConfig()).CoreV1().ConfigMaps("kube-system")
	const name, entry = "extension-apiserver-authentication", "requestheader-client-ca-file"
	within(t, rotationPatience, "the replicas to forget the old CA", func() bool {
		if config, err := published.Get(t.Context(), name, metav1.GetOptions{}); err == nil && config.Data[entry] != string(another.PEM()) {
			config.Data[entry] = string(another.PEM())
			_, _ = published.Update(t.Context(), config, metav1.UpdateOptions{}) // in a conflict, the next time
		}
		return all(asking(t, r, oldCert, oldKey, header), http.StatusUnauthorized)
	})
}

func rotateClientCA(t *testing.T, r ownHub) {
	another := newCA(t)
	cert, key := issue(t, another, framework.Leaf{CommonName: "admin", Organization: []string{framework.AdminGroup}})
	if codes := asking(t, r, cert, key, nil); !all(codes, http.StatusUnauthorized) {
		t.Fatalf("an unknown CA vouches for users: %v", codes)
	}
	// Headers of a front proxy say nothing when a user sends them, of whichever CA.
	user, userKey := issue(t, r.ClientCA, framework.Leaf{CommonName: "nobody"})
	if codes := asking(t, r, user, userKey, http.Header{"X-Remote-User": {"admin"}, "X-Remote-Group": {framework.AdminGroup}}); !all(codes, http.StatusForbidden) {
		t.Errorf("a user got in by headers: %v", codes)
	}
	replace(t, r.ClientCA.CertFile, append(r.ClientCA.PEM(), another.PEM()...))
	within(t, rotationPatience, "the replicas to trust the new CA", func() bool { return all(asking(t, r, cert, key, nil), http.StatusOK) })
}

func rotateServing(t *testing.T, r ownHub) {
	for i, replica := range r.replicas {
		cert, key := issue(t, r.ServingCA, framework.Leaf{CommonName: "renewed", Hosts: []string{framework.Service + "." + framework.Namespace + ".svc", "localhost", "127.0.0.1"}, Lifetime: 77 * time.Hour})
		files := filepath.Join(r.Dir(), "pki", fmt.Sprint("replica-", i))
		replace(t, files+".key", key)
		replace(t, files+".crt", cert)
		within(t, rotationPatience, "the new certificate to be served", func() bool {
			conn, err := tls.Dial("tcp", strings.TrimPrefix(replica.URL(), "https://"), &tls.Config{InsecureSkipVerify: true})
			if err != nil {
				return false
			}
			defer conn.Close()
			return conn.ConnectionState().PeerCertificates[0].Subject.CommonName == "renewed"
		})
		wantEnd(t, replica, "serving", 77*time.Hour)
		if !logged(t, r.Hub, fmt.Sprint("replica-", i), `"Certificate was loaded" certificate="serving"`) {
			t.Error("the log does not tell of the new certificate")
		}
	}
}

// wantEnd wants the metric to say when a certificate ends.
func wantEnd(t *testing.T, replica *framework.Server, certificate string, in time.Duration) {
	t.Helper()
	end := time.Unix(int64(metric(t, replica, `binnacle_certificate_expiration_timestamp_seconds\{certificate="`+certificate+`"\}`)), 0)
	if left := time.Until(end); left < in-5*time.Minute || left > in {
		t.Errorf("the metric says that %s ends in %s, want %s", certificate, left, in)
	}
}

// metric reads one sample of a replica's metrics; 0 if there is none.
func metric(t *testing.T, replica *framework.Server, sample string) int {
	t.Helper()
	body := newCaller(t, adminOf(t, replica), ours, "", "").must(request{method: http.MethodGet, path: "/metrics", accept: "text/plain"}).raw
	found := regexp.MustCompile(`(?m)^` + sample + ` (\S+)$`).FindSubmatch(body)
	if found == nil {
		return 0
	}
	value, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return int(value)
}

func rotateToken(t *testing.T, r ownHub, auditLog string) {
	identity, err := r.ServiceAccountConfig(t.Context(), framework.Namespace, framework.ServiceAccount)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(identity.BearerToken, ".")[1])
	if err != nil {
		t.Fatal(err)
	}
	var claims struct {
		ID string `json:"jti"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil || claims.ID == "" {
		t.Fatalf("%s: %v", payload, err)
	}
	replace(t, filepath.Join(r.Dir(), "kubeconfigs", "binnacle-apiserver.token"), []byte(identity.BearerToken))
	strangers := 0
	within(t, rotationPatience, "the server to show its new token to the hub", func() bool {
		// About somebody unknown the server has to ask the hub.
		strangers++
		cert, key := issue(t, r.ClientCA, framework.Leaf{CommonName: fmt.Sprint("stranger-", strangers)})
		if codes := asking(t, r, cert, key, nil); !all(codes, http.StatusForbidden) {
			t.Fatalf("a stranger is answered %v", codes)
		}
		log, err := os.ReadFile(auditLog)
		return err == nil && bytes.Contains(log, []byte("JTI="+claims.ID))
	})
}

func rotateEtcdClient(t *testing.T, r ownHub) {
	cert, key := issue(t, r.etcd.CA, framework.Leaf{CommonName: "renewed", Lifetime: 55 * time.Hour})
	replaceEtcdClient(t, r, cert, key)
	for _, replica := range r.replicas {
		wantEnd(t, replica, "etcd-client", 55*time.Hour)
	}
}

func replaceEtcdClient(t *testing.T, r ownHub, cert, key []byte) {
	t.Helper()
	config := r.etcd.Config()
	replace(t, config.KeyFile, key)
	replace(t, config.CertFile, cert)
}

// wrongEtcdClient shows that new connections to etcd are made with what the file holds at that time.
func wrongEtcdClient(t *testing.T, r ownHub) {
	config := r.etcd.Config()
	goodCert, err := os.ReadFile(config.CertFile)
	if err != nil {
		t.Fatal(err)
	}
	goodKey, err := os.ReadFile(config.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	answers := func(code int) func() bool {
		return func() bool {
			for _, replica := range r.replicas {
				if newCaller(t, replica.ConfigFor("admin", framework.AdminGroup), ours, "", "").do(request{method: http.MethodGet, path: "/readyz/etcd", accept: "text/plain"}).code != code {
					return false
				}
			}
			return true
		}
	}
	cert, key := issue(t, newCA(t), framework.Leaf{CommonName: "client"})
	replaceEtcdClient(t, r, cert, key)
	r.toEtcd.Cut()
	within(t, rotationPatience, "a certificate of another CA to be refused", answers(http.StatusInternalServerError))
	replaceEtcdClient(t, r, goodCert, goodKey)
	within(t, rotationPatience, "the good certificate to be taken", answers(http.StatusOK))
}
