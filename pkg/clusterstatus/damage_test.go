package clusterstatus_test

import (
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/storage"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/report/pages"
)

const pagesPrefix = prefix + "binnacle.dev/clusterstatuses/"

// TestDamagedPage has somebody write what is no page: nobody is shown what may be wrong, and all is well once it is gone.
func TestDamagedPage(t *testing.T) {
	h := newHub(t)
	r := h.start()
	uid := h.register("x", 1)
	r.report(uid, "v1")
	r.publish()
	if _, err := h.client.Put(t.Context(), pagesPrefix+pages.SeenKey(0), "garbage"); err != nil {
		t.Fatal(err)
	}
	h.eventually("the view to be no longer served", func() bool { return apierrors.IsServiceUnavailable(r.engine.Check()) })
	err := r.storage.Get(t.Context(), "/clusterstatuses/fleet/x", storage.GetOptions{ResourceVersion: "0"}, &binnacle.ClusterStatus{})
	if !apierrors.IsServiceUnavailable(err) || !strings.Contains(err.Error(), "page") {
		t.Errorf("a read that need not be fresh: %v", err)
	}
	if fresh := h.newEngine(); !h.becomes(fresh.engine.Started) {
		t.Error("a server that finds such a page at its start keeps all other kinds from being served")
	}
	if _, err := h.client.Delete(t.Context(), pagesPrefix+pages.SeenKey(0)); err != nil {
		t.Fatal(err)
	}
	h.eventually("the view to be served again", func() bool { return r.engine.Check() == nil })
	if got := r.get("x"); got.Name != "x" {
		t.Errorf("%+v", got)
	}
}

// TestPagesDeleted has somebody delete all pages while servers run: the clusters begin from nothing, and report again.
func TestPagesDeleted(t *testing.T) {
	h := newHub(t)
	a, b := h.start(), h.start()
	uid := h.register("x", 1)
	a.report(uid, "v1")
	a.publish()
	if _, err := h.client.Delete(t.Context(), pagesPrefix, clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*replica{a, b} {
		h.eventually("the view to begin anew", func() bool {
			return r.engine.Check() == nil && r.get("x").Status.Phase == binnacle.ClusterUnknown
		})
	}
	h.wall.Step(10 * time.Second)
	b.report(uid, "v2")
	b.publish()
	if got := a.get("x").Status; got.Phase != binnacle.ClusterReady || got.KubernetesVersion != "v2" {
		t.Errorf("after the next report: %+v", got)
	}
}

// TestLateReport has a replica publish a report after the cluster has reported to another one: the newer one stays.
func TestLateReport(t *testing.T) {
	h := newHub(t)
	a, b := h.start(), h.start()
	uid := h.register("x", 1)
	a.get("x")
	b.get("x")
	a.report(uid, "v1")
	h.wall.Step(10 * time.Second)
	b.report(uid, "v2")
	b.publish()
	a.publish()
	if got := a.get("x").Status; got.KubernetesVersion != "v2" {
		t.Errorf("the older report counts: %+v", got)
	}
	if _, waits := a.table.Newest(uid); waits {
		t.Error("the older report is still to be published")
	}
}
