package integration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	apiregistration "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// What docs/install/hub.md promises of an outage of ours (cases.md, 10).
const (
	outageNoticed    = 45 * time.Second
	returnNoticed    = 60 * time.Second
	kubectlInOutage  = 10 * time.Second
	namespaceWaited  = 60 * time.Second
	restartInOutage  = 60 * time.Second
	garbageInOutage  = 30 * time.Second
	ourKindsInOutage = 10 * time.Second
)

// TestOutage takes the server away from its hub, in two ways, and looks at what that blocks, what it does not, and what becomes of it after
// the server is back.
func TestOutage(t *testing.T) {
	t.Parallel() // It mostly waits.
	own := startOwnHub(t, framework.HubOptions{}, 1)
	s := own.replicas[0]
	o := outage{t: t, own: own, client: kubernetes.NewForConfigOrDie(own.AdminConfig()), services: apiregistration.NewForConfigOrDie(own.AdminConfig())}
	for _, way := range []struct {
		name       string
		away, back func() error
	}{
		{"silent", func() error { return s.Pause() }, func() error { return s.Resume() }},
		{"stopped", func() error { return s.Stop() }, func() error { return s.Start(t.Context()) }},
	} {
		t.Run(way.name, func(t *testing.T) {
			o := o
			o.t, o.name = t, way.name
			process := s.Process
			t.Cleanup(func() { _ = process.Resume() })
			o.run(way.away, way.back)
		})
	}
}

type outage struct {
	t        *testing.T
	name     string
	own      ownHub
	client   kubernetes.Interface
	services *apiregistration.ApiregistrationV1Client
}

func (o outage) run(away, back func() error) {
	t := o.t
	profiles := o.own.through(t, o.own.namespace(t, o.name))
	profiles.must(post("clusterprofiles", profileNamed("a", managed)))
	y := newYard(t, o.own.AdminConfig(), profiles.namespace)
	if err := away(); err != nil {
		t.Fatal(err)
	}
	o.measure("all APIServices are unavailable", outageNoticed, func() bool { return o.available(apiregistrationv1.ConditionFalse) == 3 })
	o.kubectl("kubectl get pods")
	o.measure("a request for our kinds is answered", ourKindsInOutage, func() bool {
		if a := profiles.do(get("clusterprofiles/a")); a.code != 503 {
			t.Errorf("our kinds: %d %s", a.code, a.raw)
		}
		return true
	})
	unrelated := o.own.namespace(t, "unrelated-"+o.name)
	o.deleteNamespace(unrelated)
	o.measure("the namespace waits for us", outageNoticed, func() bool {
		return strings.Contains(o.conditions(unrelated), "unable to retrieve the complete list of server APIs")
	})
	o.garbage(y, "before")

	if err := o.own.APIServer.Kill(); err != nil {
		t.Fatal(err)
	}
	restarted := time.Now()
	if err := o.own.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(restarted); took > restartInOutage {
		t.Errorf("the hub's API server took %s to become ready", took)
	} else {
		t.Logf("the hub's API server is ready after %s", took.Round(time.Millisecond))
	}
	o.kubectl("kubectl get pods after a restart of the hub")
	o.garbage(y, "after")
	if o.gone(unrelated) {
		t.Error("the namespace is gone, though nobody could know what of ours was in it")
	}

	if err := back(); err != nil {
		t.Fatal(err)
	}
	returned := time.Now()
	o.measure("all APIServices are available", returnNoticed, func() bool { return o.available(apiregistrationv1.ConditionTrue) == 3 })
	within(t, namespaceWaited, "the namespace to end by itself", func() bool { return o.gone(unrelated) })
	t.Logf("the namespace is gone %s after the return", time.Since(returned).Round(time.Millisecond))
	// The hub says that we are available a moment before it sends requests our way again.
	if err := o.own.Registered(t.Context()); err != nil {
		t.Fatal(err)
	}
	profiles.must(get("clusterprofiles/a"))
}

// measure waits for a condition and says how long it took.
func (o outage) measure(what string, limit time.Duration, met func() bool) {
	o.t.Helper()
	started := time.Now()
	within(o.t, limit, what, met)
	o.t.Logf("%s after %s", what, time.Since(started).Round(time.Millisecond))
}

// kubectl asks for pods with nothing in its caches.
func (o outage) kubectl(what string) {
	o.t.Helper()
	k, err := o.own.KubectlFor("admin", framework.AdminGroup)
	if err != nil {
		o.t.Fatal(err)
	}
	data, err := os.ReadFile(k.Kubeconfig)
	if err != nil {
		o.t.Fatal(err)
	}
	k.Kubeconfig = file(o.t, "kubeconfig", string(data))
	if _, err := os.Stat(filepath.Join(k.Kubeconfig + ".cache")); err == nil {
		o.t.Fatal("the cache is warm")
	}
	started := time.Now()
	_, errOut, err := k.Run(o.t.Context(), "get", "pods", "-A")
	took := time.Since(started)
	o.t.Logf("%s: %s", what, took.Round(time.Millisecond))
	if err != nil || took > kubectlInOutage {
		o.t.Errorf("%s: after %s: %v %s", what, took, err, errOut)
	}
}

// garbage has the hub collect what has nothing to do with us.
func (o outage) garbage(y yard, name string) {
	o.t.Helper()
	owner := y.add(ownables[0], "owner-"+name, nil)
	dependent := y.add(ownables[0], "dependent-"+name, nil, owner.owned(true))
	owner.delete(metav1.DeletePropagationBackground)
	o.measure("unrelated garbage is collected", garbageInOutage, dependent.isGone)
}

func (o outage) available(want apiregistrationv1.ConditionStatus) int {
	list, err := o.services.APIServices().List(o.t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/part-of=binnacle"})
	if err != nil {
		return -1
	}
	n := 0
	for _, service := range list.Items {
		for _, c := range service.Status.Conditions {
			if c.Type == apiregistrationv1.Available && c.Status == want {
				n++
			}
		}
	}
	return n
}

func (o outage) deleteNamespace(name string) {
	o.t.Helper()
	if err := o.client.CoreV1().Namespaces().Delete(o.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		o.t.Fatal(err)
	}
}

func (o outage) conditions(namespace string) string {
	ns, err := o.client.CoreV1().Namespaces().Get(o.t.Context(), namespace, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(ns.Status.Conditions)
}

func (o outage) gone(namespace string) bool {
	_, err := o.client.CoreV1().Namespaces().Get(context.WithoutCancel(o.t.Context()), namespace, metav1.GetOptions{})
	return apierrors.IsNotFound(err)
}
