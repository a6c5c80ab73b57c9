package integration

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// TestOneSetOfParameters starts a second server with another grace period: both derive the view by it, and no version of before is
// understood any more, so that none has two contents.
func TestOneSetOfParameters(t *testing.T) {
	t.Parallel() // It mostly waits.
	const short, long = 3 * time.Second, 9 * time.Second
	servers, etcd, _ := startShared(t, 1, "--cluster-grace-period="+short.String(), "--cluster-mass-silence-percent=100")
	c := register(t, adminOf(t, servers[0]), "parameters", 4)
	r := newReporters(t, c.namespace, adminOf(t, servers[0])).start(t, c.names, numbered)
	first := c.at(t, servers)[0]
	untilAll(t, first, "all to be Ready", inPhase(v1alpha1.ClusterReady))
	follows := startViewer(t, first)
	before := newCaller(t, adminOf(t, servers[0]), "binnacle.dev", c.namespace, "v1alpha1")
	old := before.must(get("clusterstatuses"))
	open, _ := before.watch("resourceVersion="+fmt.Sprint(old.versionOf()), "clusterstatuses")

	servers = append(servers, startOn(t, etcd, "--cluster-grace-period="+long.String(), "--cluster-mass-silence-percent=100"))
	clients := c.at(t, servers)
	within(t, viewPatience, "the open watch to end with 410", func() bool {
		e, ok := <-open
		if !ok {
			t.Fatal("the watch ended without a word")
		}
		return e.Type == "ERROR" && e.Object["code"] == float64(http.StatusGone)
	})
	for i, s := range servers {
		at := newCaller(t, adminOf(t, s), "binnacle.dev", c.namespace, "v1alpha1")
		version := fmt.Sprint(old.versionOf())
		if a := at.do(get("clusterstatuses?resourceVersionMatch=Exact&resourceVersion=" + version)); a.code != http.StatusGone {
			t.Errorf("server %d: a list at exactly a version of before: %d %s", i, a.code, shorten(string(a.raw)))
		}
		events, _ := at.watch("resourceVersion="+version, "clusterstatuses")
		if e := next(t, events); e.Type != "ERROR" || e.Object["code"] != float64(http.StatusGone) {
			t.Errorf("server %d: a watch from a version of before: %v", i, e)
		}
	}

	viewers := viewersOf(t, clients)
	r.mute(true, "c0")
	for i, v := range viewers {
		gone := v.await(t, "c0", "Unreachable", 0, inPhase(v1alpha1.ClusterUnreachable))
		if after := gone.at.Sub(r.lastSent("c0")); after < long {
			t.Errorf("server %d: Unreachable after %s, want the %s of the server that started last", i, after, long)
		}
	}
	r.stop()
	r.check(t)
	wantSame(t, viewers)
	if relists := follows.check(t); relists == 0 {
		t.Error("a client that watched all the time did not have to list again")
	}
	within(t, viewPatience, "that client to have what the others have", func() bool {
		list, err := clients[1].List(t.Context(), metav1.ListOptions{})
		if err != nil && !apierrors.IsServiceUnavailable(err) {
			t.Fatal(err)
		}
		known := follows.known()
		for i := range list.Items {
			if s := known[list.Items[i].Name]; s == nil || s.Status.Phase != list.Items[i].Status.Phase || numberIn(s) != numberIn(&list.Items[i]) {
				return false
			}
		}
		return len(list.Items) == len(c.names)
	})
}
