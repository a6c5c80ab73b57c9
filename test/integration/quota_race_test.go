package integration

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned"
	"github.com/binnacle-dev/binnacle/test/framework"
)

func (own ownHub) namespace(t *testing.T, name string) string {
	t.Helper()
	_, err := kubernetes.NewForConfigOrDie(own.AdminConfig()).CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// TestQuotaUnderLoad creates through two replicas and the hub at once, and lets exactly as many in as the quota has room for; then it takes
// the hub away.
func TestQuotaUnderLoad(t *testing.T) {
	own := startOwnHub(t, framework.HubOptions{}, 2)
	const writers, room = 16, 5
	for round := range 5 {
		namespace := own.namespace(t, fmt.Sprint("race-", round))
		callers := []caller{own.past(t, 0, namespace), own.past(t, 1, namespace), own.through(t, namespace)}
		limit(t, own.Hub, map[string]int64{"clusterprofiles." + ours: room, "placementdecisions." + ours: 0}, callers...)
		codes := make([]int, writers)
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				<-start
				codes[i] = callers[i%len(callers)].do(post("clusterprofiles", profileNamed(fmt.Sprint("c", i), managed))).code
			})
		}
		close(start)
		wg.Wait()
		count := map[int]int{}
		for _, code := range codes {
			count[code]++
		}
		there := len(callers[0].must(get("clusterprofiles")).field("items").([]any))
		if count[http.StatusCreated] != room || count[http.StatusForbidden] != writers-room || there != room {
			t.Errorf("round %d: answers %v, %d objects, want %d", round, count, there, room)
		}
	}
	own.quotaContention(t)
	own.quotaWithoutHub(t)
}

// quotaContention creates through both replicas for a while, each of which has to count in what the other wrote: a client of client-go,
// which tries again when it is told to, notices nothing.
func (own ownHub) quotaContention(t *testing.T) {
	const writers, each = 16, 20
	namespace := own.namespace(t, "contention")
	limit(t, own.Hub, map[string]int64{"clusterprofiles." + ours: writers * each, "placementdecisions." + ours: 0}, own.past(t, 0, namespace), own.past(t, 1, namespace))
	started := time.Now()
	var wg sync.WaitGroup
	for i := range writers {
		profiles := versioned.NewForConfigOrDie(own.replicas[i%2].ConfigFor("admin", framework.AdminGroup)).MulticlusterV1alpha2().ClusterProfiles(namespace)
		wg.Go(func() {
			for j := range each {
				if _, err := profiles.Create(t.Context(), newProfile(fmt.Sprintf("c%d-%d", i, j)), metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d creates with a quota through two replicas: %.0f a second", writers*each, writers*each/time.Since(started).Seconds())
	if n := used(t, own.Hub, namespace, "clusterprofiles."+ours); n != writers*each {
		t.Errorf("%d are counted, want %d", n, writers*each)
	}
	if a := own.past(t, 0, namespace).do(post("clusterprofiles", profileNamed("more", managed))); a.code != http.StatusForbidden {
		t.Errorf("one more: %d %s", a.code, a.status.Message)
	}
}

// quotaWithoutHub writes past a hub that does not answer: what a quota would have to count is refused within a bound and says why, and
// what no quota is about goes on.
func (own ownHub) quotaWithoutHub(t *testing.T) {
	limited, free := own.namespace(t, "limited"), own.namespace(t, "free")
	in, out := own.past(t, 0, limited), own.past(t, 0, free)
	limit(t, own.Hub, map[string]int64{"clusterprofiles." + ours: 100, "placementdecisions." + ours: 0}, in)
	in.must(post("clusterprofiles", profileNamed("a", managed)))
	out.must(post("clusterprofiles", profileNamed("a", managed)))
	refused := func(name string, bound time.Duration) {
		t.Helper()
		started := time.Now()
		a := in.do(post("clusterprofiles", profileNamed(name, managed)))
		took := time.Since(started)
		t.Logf("%s: refused after %s: %s", name, took.Round(time.Millisecond), a.status.Message)
		if a.code != http.StatusServiceUnavailable || !strings.Contains(a.status.Message, `the quotas of namespace "limited" cannot be counted on the hub now`) || took > bound {
			t.Errorf("%s: after %s: %d %s", name, took, a.code, a.raw)
		}
		out.must(post("clusterprofiles", profileNamed(name, managed)))
		in.must(patch("clusterprofiles/a", `{"metadata":{"labels":{"while":"`+name+`"}}}`))
	}
	again := func(name string) {
		t.Helper()
		eventually(t, "the quota to be counted again", func() bool {
			return in.do(post("clusterprofiles", profileNamed(name, managed))).code == http.StatusCreated
		})
	}

	if err := own.APIServer.Pause(); err != nil {
		t.Fatal(err)
	}
	apiServer := own.APIServer
	t.Cleanup(func() { _ = apiServer.Resume() })
	refused("silent", 20*time.Second)
	if err := own.APIServer.Resume(); err != nil {
		t.Fatal(err)
	}
	again("back")
	if err := own.APIServer.Kill(); err != nil {
		t.Fatal(err)
	}
	refused("gone", 20*time.Second)
	if err := own.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	again("restarted")
	if n := used(t, own.Hub, limited, "clusterprofiles."+ours); n < 3 || n > 5 {
		// A create is counted, at most, that was refused because the answer of a silent hub came late.
		t.Errorf("%d counted, want the 3 that are there, and 2 that were refused at most", n)
	}
}
