package integration

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// countDelay bounds how long the hub's quota controller takes to learn of a kind, or to count again. It asks for the kinds twice a minute.
const countDelay = 90 * time.Second

// limit makes a quota on numbers of objects in the namespace of the callers, and waits until the hub has counted what is there and each
// server knows of it. A server learns of a quota by a watch, as kube-apiserver does, and lets in what comes before; that it does not let in
// a PlacementDecision, of which there may be none at first, shows that it has.
func limit(t *testing.T, h *framework.Hub, counts map[string]int64, callers ...caller) {
	t.Helper()
	hard, first := corev1.ResourceList{}, corev1.ResourceList{}
	for name, n := range counts {
		key := corev1.ResourceName("count/" + name)
		hard[key] = *resource.NewQuantity(n, resource.DecimalSI)
		if first[key] = hard[key]; strings.HasPrefix(name, "placementdecisions.") {
			first[key] = *resource.NewQuantity(0, resource.DecimalSI)
		}
		awaitCounted(t, h, name)
	}
	quotas := kubernetes.NewForConfigOrDie(h.AdminConfig()).CoreV1().ResourceQuotas(callers[0].namespace)
	set := func(hard corev1.ResourceList) {
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: corev1.ResourceQuotaSpec{Hard: hard}}
		_, err := quotas.Create(t.Context(), quota, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			_, err = quotas.Update(t.Context(), quota, metav1.UpdateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	decide := func(what string, code int, text string) {
		for _, c := range callers {
			within(t, countDelay, what, func() bool {
				a := c.do(post("placementdecisions?dryRun=All", decisionNamed("trial", `,"decisions":[]`)))
				return a.code == code && strings.Contains(a.status.Message, text)
			})
		}
	}
	set(first)
	decide("the quota to be known", http.StatusForbidden, "exceeded quota: q")
	if !quotav1.Equals(first, hard) {
		set(hard)
		decide("the quota to be raised", http.StatusCreated, "")
	}
}

// awaitCounted waits for the hub's controller to know a kind. A quota on one that it does not know yet would be counted minutes later.
func awaitCounted(t *testing.T, h *framework.Hub, name string) {
	t.Helper()
	within(t, countDelay, "the hub to know "+name, func() bool {
		return strings.Contains(after(controllerLog(t, h), `created object count evaluator" resource="`+name+`"`), "synced quota controller")
	})
}

// used is how many objects of a kind count in the quota.
func used(t *testing.T, h *framework.Hub, namespace, name string) int64 {
	t.Helper()
	q, err := kubernetes.NewForConfigOrDie(h.AdminConfig()).CoreV1().ResourceQuotas(namespace).Get(t.Context(), "q", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	count := q.Status.Used[corev1.ResourceName("count/"+name)]
	return count.Value()
}

// agreeInWords sends a request to both and wants the same answer, text included.
func (p pair) agreeInWords(t *testing.T, r request, code int) {
	t.Helper()
	mine, theirs := p.ours.do(r), p.twin.do(r)
	if text := strings.ReplaceAll(theirs.status.Message, twin, ours); mine.code != code || mine.summary() != theirs.summary() || mine.status.Message != text {
		t.Errorf("%s %s\nours: %d %s\ntwin: %d %s", r.method, r.path, mine.code, mine.status.Message, theirs.code, text)
	}
}

// TestQuota limits the number of objects, whoever creates them and however, with the words of kube-apiserver for a custom resource; the
// hub's controller counts, and makes room after a deletion.
func TestQuota(t *testing.T) {
	both := newPair(t, newNamespace(t), "v1alpha2")
	old := both
	old.ours.version, old.twin.version = "v1alpha1", "v1alpha1"
	both.must(post("clusterprofiles", profileNamed("before", managed)))
	limit(t, hub, map[string]int64{"clusterprofiles." + ours: 3, "placementdecisions." + ours: 1, "clusterprofiles." + twin: 3, "placementdecisions." + twin: 1},
		both.ours, both.twin)

	for range 4 { // A dry run uses nothing up.
		both.must(post("clusterprofiles?dryRun=All", profileNamed("dry", managed)))
	}
	old.must(post("clusterprofiles", profileNamed("a", managed)))
	both.must(applyAs("f", "clusterprofiles/b", profileNamed("b", managed)))
	both.must(post("placementdecisions", decisionNamed("d", `,"decisions":[]`)))
	generated := strings.Replace(profileNamed("g-", managed), `"name":"g-"`, `"generateName":"g-"`, 1)
	for _, r := range []request{
		post("clusterprofiles", profileNamed("c", managed)),
		post("clusterprofiles?dryRun=All", profileNamed("c", managed)),
		post("clusterprofiles", profileNamed("a", managed)),
		applyAs("f", "clusterprofiles/c", profileNamed("c", managed)),
		post("placementdecisions", decisionNamed("e", `,"decisions":[]`)),
	} {
		both.agreeInWords(t, r, http.StatusForbidden)
		old.agreeInWords(t, r, http.StatusForbidden)
	}
	if a := both.ours.do(post("clusterprofiles", generated)); a.code != http.StatusForbidden || !strings.Contains(a.status.Message, "exceeded quota: q") {
		t.Errorf("a generated name: %s", a.raw)
	}
	for _, r := range []request{ // What is there may change.
		patch("clusterprofiles/a", `{"spec":{"displayName":"A"}}`), patchStatus("a", `{"version":{"kubernetes":"v1.37.2"}}`), patch("placementdecisions/d", `{"schedulerName":"s"}`),
		applyAs("f", "clusterprofiles/b", profileNamed("b", managed)),
	} {
		both.must(r)
	}
	for _, group := range []string{ours, twin} {
		if n := used(t, hub, both.ours.namespace, "clusterprofiles."+group); n != 3 {
			t.Errorf("%d profiles of %s are counted, want 3", n, group)
		}
	}

	both.must(request{method: "DELETE", path: "clusterprofiles/a"})
	both.must(request{method: "DELETE", path: "placementdecisions/d"})
	within(t, countDelay, "room after a deletion", func() bool {
		return used(t, hub, both.ours.namespace, "clusterprofiles."+ours) == 2 && used(t, hub, both.ours.namespace, "placementdecisions."+ours) == 0
	})
	both.ours.must(post("clusterprofiles", profileNamed("c", managed)))
	both.ours.must(post("placementdecisions", decisionNamed("e", `,"decisions":[]`)))

	t.Run("the controller is in step with us", controllersInStep)
	t.Run("--disable-admission-plugins=ResourceQuota", func(t *testing.T) {
		s, err := hub.StartReplica(t.Context(), framework.ServerOptions{Name: "without-quota", Flags: []string{"--disable-admission-plugins=ResourceQuota"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Stop() })
		c := newCaller(t, s.ConfigFor("admin", framework.AdminGroup), ours, both.ours.namespace, "v1alpha2")
		for i := range 5 {
			c.must(post("clusterprofiles", profileNamed(fmt.Sprint("free-", i), managed)))
		}
	})
}

// controllersInStep reads in the log of kube-controller-manager that its quota controller and its garbage collector have synced with every
// kind of the hub, ours among them. One kind that does not sync stalls them for all.
func controllersInStep(t *testing.T) {
	log := func() string { return controllerLog(t, hub) }
	for _, begin := range []string{"syncing resource quota controller with updated resources from discovery", "syncing garbage collector with updated resources from discovery"} {
		within(t, countDelay, begin, func() bool {
			for line := range strings.Lines(log()) {
				if strings.Contains(line, begin) && strings.Contains(line, "added: ") && strings.Contains(line, ours) {
					return true
				}
			}
			return false
		})
	}
	within(t, countDelay, "both to have synced", func() bool {
		return strings.Contains(after(log(), "syncing resource quota controller with"), "synced quota controller") &&
			strings.Contains(after(log(), "syncing garbage collector with"), "synced garbage collector")
	})
	if text := strings.ToLower(log()); strings.Contains(text, "timed out waiting for quota monitor sync") || strings.Contains(text, "timed out waiting for dependency graph builder sync") {
		t.Error("a controller has waited in vain")
	}
}

func controllerLog(t *testing.T, h *framework.Hub) string {
	t.Helper()
	data, err := os.ReadFile(h.ControllerManager.LogPath())
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// after returns what follows the last time that mark is in text, nothing where it is not.
func after(text, mark string) string {
	at := strings.LastIndex(text, mark)
	if at < 0 {
		return ""
	}
	return text[at:]
}
