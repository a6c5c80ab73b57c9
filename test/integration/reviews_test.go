package integration

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// authorizationCache is how long the server goes by what the hub said about a right, as docs/operations say.
const authorizationCache = 10 * time.Second

// bindReaders lets a group read our kinds in a namespace.
func bindReaders(t *testing.T, namespace, group string) *rbacv1.RoleBinding {
	t.Helper()
	bound, err := kubernetes.NewForConfigOrDie(hub.AdminConfig()).RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "readers-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "binnacle-view"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: group}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return bound
}

// reviewsAsked returns how many reviews a server has asked its hub for.
func reviewsAsked(t *testing.T, s *framework.Server) int {
	t.Helper()
	return metric(t, s, `apiserver_delegated_authz_request_total\{code="201"\}`)
}

// TestReviewsOfManyUsers lets 200 users ask 100 times a second through the hub. The server asks the hub once for each user and question
// in each cache time, and a right that is withdrawn does not outlive it (apiserver-guide D18; cases.md, 47).
func TestReviewsOfManyUsers(t *testing.T) {
	const users, perSecond, seconds = 200, 100, 25
	namespace := newNamespace(t)
	binding := bindReaders(t, namespace, "fleet-readers")
	callers := make([]caller, users)
	for i := range callers {
		callers[i] = newCaller(t, hub.ConfigFor(fmt.Sprint("reader-", i), "fleet-readers"), ours, namespace, "v1alpha2")
	}
	// The first request of each opens its connection, and is not counted.
	ask := func(c caller) int { return c.do(get("clusterprofiles")).code }
	for _, c := range callers {
		eventually(t, "the right to be there", func() bool { return ask(c) == http.StatusOK })
	}

	before, started := reviewsAsked(t, server), time.Now()
	took := make([]time.Duration, perSecond*seconds)
	var refused atomic.Int64
	var wg sync.WaitGroup
	tick := time.NewTicker(time.Second / perSecond)
	defer tick.Stop()
	for i := range took {
		<-tick.C
		wg.Go(func() {
			sent := time.Now()
			if ask(callers[i%users]) != http.StatusOK {
				refused.Add(1)
			}
			took[i] = time.Since(sent)
		})
	}
	wg.Wait()
	asked, lasted := reviewsAsked(t, server)-before, time.Since(started)
	slices.Sort(took)
	t.Logf("%d requests in %s: %d reviews, p50 %s, p99 %s", len(took), lasted.Round(time.Second), asked, took[len(took)/2], took[len(took)*99/100])
	if refused.Load() > 0 {
		t.Errorf("%d requests were refused", refused.Load())
	}
	// One for a user in each cache time that has begun, and a few for what the hub itself asks us.
	if most := users*(int(lasted/authorizationCache)+1) + 50; asked > most {
		t.Errorf("%d reviews of %d requests, want at most %d", asked, len(took), most)
	}

	if err := kubernetes.NewForConfigOrDie(hub.AdminConfig()).RbacV1().RoleBindings(namespace).Delete(t.Context(), binding.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	withdrawn := time.Now()
	direct := newCaller(t, server.ConfigFor("reader-0", "fleet-readers"), ours, namespace, "v1alpha2")
	within(t, authorizationCache+5*time.Second, "the withdrawn right to bite past the hub as well", func() bool { return ask(direct) == http.StatusForbidden })
	t.Logf("a withdrawn right bit after %s", time.Since(withdrawn).Round(100*time.Millisecond))
	for _, c := range callers {
		if code := ask(c); code != http.StatusForbidden {
			t.Errorf("%d after the right was withdrawn", code)
		}
	}
}

// TestRejectedReviews lets the hub reject reviews, half of them and then all: nobody gets in who may not, callers are told to try again,
// and are never told that the server is at fault (cases.md, 47).
func TestRejectedReviews(t *testing.T) {
	namespace := newNamespace(t)
	bindReaders(t, namespace, "reviewed-readers")
	var share atomic.Int64 // how many of two reviews are rejected
	var counter atomic.Int64
	kubeconfig := throughProxy(t, func(proxied http.Handler, w http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/subjectaccessreviews") && counter.Add(1)%2 < share.Load() {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many requests", http.StatusTooManyRequests)
			return
		}
		proxied.ServeHTTP(w, req)
	})
	replica, err := hub.StartReplica(t.Context(), framework.ServerOptions{Name: "rejected-reviews", Flags: []string{"--authorization-kubeconfig=" + kubeconfig,
		"--authorization-webhook-cache-authorized-ttl=0s", "--authorization-webhook-cache-unauthorized-ttl=0s"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = replica.Stop() })
	reader := newCaller(t, replica.ConfigFor("reader", "reviewed-readers"), ours, namespace, "v1alpha2")
	stranger := newCaller(t, replica.ConfigFor("stranger"), ours, namespace, "v1alpha2")
	eventually(t, "the right to be there", func() bool { return reader.do(get("clusterprofiles")).code == http.StatusOK })

	for _, rejected := range []int64{0, 1, 2, 0} {
		share.Store(rejected)
		var wg sync.WaitGroup
		for i := range 12 {
			c, allowed := reader, http.StatusOK
			if i%3 == 0 {
				c, allowed = stranger, http.StatusForbidden
			}
			wg.Go(func() {
				a := c.do(get("clusterprofiles"))
				switch {
				case a.code == allowed && rejected < 2:
				case a.code == http.StatusServiceUnavailable && rejected > 0 && a.header.Get("Retry-After") != "" && a.status.Reason == metav1.StatusReasonServiceUnavailable:
				default:
					t.Errorf("%d of two reviews rejected: %d %s %v, want %d", rejected, a.code, shorten(string(a.raw)), a.header, allowed)
				}
			})
		}
		wg.Wait()
	}
}

// throughProxy writes a kubeconfig with the server's own identity that leads through a proxy before the hub.
func throughProxy(t *testing.T, handle func(proxied http.Handler, w http.ResponseWriter, req *http.Request)) string {
	t.Helper()
	target, err := url.Parse(hub.URL())
	if err != nil {
		t.Fatal(err)
	}
	proxied := httputil.NewSingleHostReverseProxy(target)
	if proxied.Transport, err = rest.TransportFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: hub.ServingCA.PEM()}}); err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { handle(proxied, w, req) }))
	t.Cleanup(proxy.Close)
	identity, err := hub.ServiceAccountConfig(context.WithoutCancel(t.Context()), framework.Namespace, framework.ServiceAccount)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := framework.WriteKubeconfig(path, &rest.Config{
		Host: proxy.URL, BearerToken: identity.BearerToken,
		TLSClientConfig: rest.TLSClientConfig{CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: proxy.Certificate().Raw})},
	}); err != nil {
		t.Fatal(err)
	}
	return path
}
