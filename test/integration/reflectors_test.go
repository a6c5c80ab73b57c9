package integration

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned"
	"github.com/binnacle-dev/binnacle/pkg/generated/informers/externalversions"
	"github.com/binnacle-dev/binnacle/test/framework"
)

// reflectorSync bounds how long a client needs to have everything, when there is nothing or little.
const reflectorSync = 5 * time.Second

var served = []schema.GroupVersionResource{
	{Group: ours, Version: "v1alpha1", Resource: "clusterprofiles"}, {Group: ours, Version: "v1alpha2", Resource: "clusterprofiles"},
	{Group: ours, Version: "v1alpha1", Resource: "placementdecisions"}, {Group: ours, Version: "v1alpha2", Resource: "placementdecisions"},
	clusterStatuses, rolloutResource,
}

var rolloutResource = schema.GroupVersionResource{Group: ownGroup, Version: "v1alpha1", Resource: "rollouts"}

// scope is what a reflector asks for.
type scope struct{ name, namespace, labels, fields string }

func (s scope) tweak(o *metav1.ListOptions) { o.LabelSelector, o.FieldSelector = s.labels, s.fields }

// TestReflectorsSyncOnNothing syncs each kind of reflector where there is nothing for it to get. Each must do so by the streamed list: a
// server that takes the request for one and never ends it has them wait for ever.
func TestReflectorsSyncOnNothing(t *testing.T) {
	t.Run("empty collections", func(t *testing.T) {
		s := startStandalone(t, framework.ServerOptions{})
		syncAll(t, adminOf(t, s), scope{name: "all namespaces"})
	})
	namespace := newNamespace(t)
	c := newCaller(t, hub.AdminConfig(), ours, namespace, "v1alpha2")
	c.must(post("clusterprofiles", profileNamed("a", managed)))
	c.must(post("placementdecisions", decisionNamed("a", `,"decisions":[]`)))
	for _, s := range []scope{
		{name: "a namespace without objects", namespace: newNamespace(t)},
		{name: "a namespace that does not exist", namespace: "does-not-exist"},
		{name: "labels that nothing has", labels: "no=where"},
		{name: "labels that nothing has, in a namespace", namespace: namespace, labels: "no=where"},
		{name: "a name that nothing has", fields: "metadata.name=nothing"},
		{name: "a namespace that nothing is in", fields: "metadata.namespace=does-not-exist"},
	} {
		t.Run(s.name, func(t *testing.T) { syncAll(t, hub.AdminConfig(), s) })
	}
}

// syncAll syncs typed, dynamic and metadata-only informers on every kind and version.
func syncAll(t *testing.T, config *rest.Config, s scope) {
	t.Helper()
	var lists, watches atomic.Int32
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if q := r.URL.Query(); q.Get("watch") == "true" && q.Get("sendInitialEvents") == "true" {
				watches.Add(1)
			} else if q.Get("watch") != "true" {
				lists.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	typed := externalversions.NewSharedInformerFactoryWithOptions(versioned.NewForConfigOrDie(config), 0, externalversions.WithNamespace(s.namespace), externalversions.WithTweakListOptions(s.tweak))
	untyped := dynamicinformer.NewFilteredDynamicSharedInformerFactory(dynamic.NewForConfigOrDie(config), 0, s.namespace, s.tweak)
	metas := metadatainformer.NewFilteredSharedInformerFactory(metadata.NewForConfigOrDie(config), 0, s.namespace, s.tweak)
	ctx, cancel := context.WithTimeout(t.Context(), reflectorSync)
	defer cancel()
	informers := map[string]cache.SharedIndexInformer{}
	for _, gvr := range served {
		generic, err := typed.ForResource(gvr)
		if err != nil {
			t.Fatal(err)
		}
		where := gvr.Version + " " + gvr.Resource
		informers["typed "+where], informers["dynamic "+where], informers["metadata "+where] = generic.Informer(), untyped.ForResource(gvr).Informer(), metas.ForResource(gvr).Informer()
	}
	started := time.Now()
	for _, informer := range informers {
		go informer.Run(t.Context().Done())
	}
	for name, informer := range informers {
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			t.Errorf("%s has not synced in %s", name, reflectorSync)
		} else if n := len(informer.GetStore().ListKeys()); n != 0 {
			t.Errorf("%s has %d objects", name, n)
		}
	}
	t.Logf("%d informers have synced after %s", len(informers), time.Since(started).Round(time.Millisecond))
	if lists.Load() != 0 || watches.Load() != int32(len(informers)) {
		t.Errorf("%d streamed lists and %d others, want %d and none", watches.Load(), lists.Load(), len(informers))
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

var wholeNumber = regexp.MustCompile(`^[1-9][0-9]*$`)

// TestListThenWatch takes the version of a list, also of an empty one, and gets from a watch exactly what changed since.
func TestListThenWatch(t *testing.T) {
	s := startStandalone(t, framework.ServerOptions{})
	for where, config := range map[string]*rest.Config{"standalone": adminOf(t, s), "hub": hub.AdminConfig()} {
		for _, gvr := range served {
			t.Run(fmt.Sprint(where, " ", gvr.Version, " ", gvr.Resource), func(t *testing.T) {
				namespace := "any-namespace-" + gvr.Version + "-" + gvr.Resource
				if where == "hub" {
					namespace = newNamespace(t)
				}
				c := newCaller(t, config, gvr.Group, namespace, gvr.Version)
				// A ClusterStatus is made by whoever makes its ClusterProfile.
				writer, written := c, gvr.Resource
				if gvr == clusterStatuses {
					writer, written = newCaller(t, config, ours, namespace, "v1alpha2"), "clusterprofiles"
				}
				body := func(name string) string {
					if written == "rollouts" {
						return rolloutNamed(name)
					}
					if written == "clusterprofiles" {
						return profileNamed(name, managed)
					}
					return decisionNamed(name, `,"decisions":[]`)
				}
				for round, before := range []string{"", "before"} { // first an empty collection
					if before != "" {
						writer.must(post(written, body(before)))
					}
					version := fmt.Sprint(c.must(get(gvr.Resource)).versionOf())
					if !wholeNumber.MatchString(version) {
						t.Fatalf("the version of the list is %q", version)
					}
					name := fmt.Sprint("new-", round)
					writer.must(post(written, body(name)))
					writer.must(patch(written+"/"+name, `{"metadata":{"labels":{"x":"y"}}}`))
					writer.must(patch(written+"/"+name, `{"metadata":{"labels":{"x":"y"}}}`)) // changes nothing
					writer.must(request{method: "DELETE", path: written + "/" + name})
					mark := writer.must(post(written, body(fmt.Sprint("mark-", round))))
					events, code := c.watch("resourceVersion="+version, gvr.Resource)
					got := fmt.Sprint(take(t, events, 4))
					if want := fmt.Sprintf("[ADDED %[1]s MODIFIED %[1]s DELETED %[1]s ADDED mark-%[2]d]", name, round); code != http.StatusOK || got != want {
						t.Errorf("%d %s, want %s", code, got, want)
					}
					if !wholeNumber.MatchString(fmt.Sprint(mark.versionOf())) {
						t.Errorf("the version of an object is %v", mark.versionOf())
					}
				}
			})
		}
	}
}

// rolloutNamed is the body of a Rollout that has never been started.
func rolloutNamed(name string) string {
	return fmt.Sprintf(`{"apiVersion":"GROUP/VERSION","kind":"Rollout","metadata":{"name":%q},"spec":{"targets":{"clusters":[{"name":"c"}]},`+
		`"output":{"decisionKey":%q},"steps":[{"name":"all","percent":100}]}}`, name, name)
}
