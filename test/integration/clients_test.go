package integration

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	upstreamv1alpha1 "sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"
	upstream "sigs.k8s.io/cluster-inventory-api/client/clientset/versioned"
	upstreaminformers "sigs.k8s.io/cluster-inventory-api/client/informers/externalversions"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	crlog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha2"
	applyv1alpha2 "github.com/binnacle-dev/binnacle/pkg/generated/applyconfiguration/multicluster/v1alpha2"
	"github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned"
	"github.com/binnacle-dev/binnacle/pkg/generated/informers/externalversions"
)

// TestUpstreamClient does with the unmodified upstream client what upstream's own integration tests do.
func TestUpstreamClient(t *testing.T) {
	ctx, namespace := t.Context(), newNamespace(t)
	client := upstream.NewForConfigOrDie(hub.AdminConfig()).ApisV1alpha1()
	profiles := client.ClusterProfiles(namespace)

	profile, err := profiles.Create(ctx, &upstreamv1alpha1.ClusterProfile{
		ObjectMeta: metav1.ObjectMeta{Name: "c", Labels: map[string]string{upstreamv1alpha1.LabelClusterManagerKey: "m"}},
		Spec:       upstreamv1alpha1.ClusterProfileSpec{DisplayName: "C", ClusterManager: upstreamv1alpha1.ClusterManager{Name: "m"}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	profile.Status.Version.Kubernetes = "v1.37.2"
	profile.Status.Properties = []upstreamv1alpha1.Property{{Name: "p", Value: "v"}}
	meta.SetStatusCondition(&profile.Status.Conditions, metav1.Condition{Type: upstreamv1alpha1.ClusterConditionControlPlaneHealthy, Status: metav1.ConditionTrue, Reason: "Ready"})
	profile.Status.AccessProviders = []upstreamv1alpha1.AccessProvider{{Name: "cat"}}
	profile.Status.AccessProviders[0].Cluster.Server = "https://a"
	profile.Status.AccessProviders[0].Cluster.CertificateAuthorityData = []byte{0, 1, 2, 0xff}
	updated, err := profiles.UpdateStatus(ctx, profile, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := updated.Status.AccessProviders[0].Cluster.CertificateAuthorityData; string(got) != "\x00\x01\x02\xff" {
		t.Errorf("CA data came back as %v", got)
	}
	if !meta.IsStatusConditionTrue(updated.Status.Conditions, "ControlPlaneHealthy") || updated.Status.Properties[0].Value != "v" {
		t.Errorf("status came back as %+v", updated.Status)
	}

	decisions := client.PlacementDecisions(namespace)
	decision, err := decisions.Create(ctx, &upstreamv1alpha1.PlacementDecision{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "d-", Labels: map[string]string{upstreamv1alpha1.DecisionKeyLabel: "k"}},
		Decisions: []upstreamv1alpha1.ClusterDecision{{ClusterProfileRef: upstreamv1alpha1.ClusterProfileReference{Name: "c"}},
			{ClusterProfileRef: upstreamv1alpha1.ClusterProfileReference{Name: "x", Namespace: "elsewhere"}, Reason: "near"}},
		SchedulerName: "s",
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	decision.Decisions = append(decision.Decisions, upstreamv1alpha1.ClusterDecision{ClusterProfileRef: upstreamv1alpha1.ClusterProfileReference{Name: "y"}})
	if decision, err = decisions.Update(ctx, decision, metav1.UpdateOptions{}); err != nil || len(decision.Decisions) != 3 {
		t.Errorf("%v, %+v", err, decision)
	}
	for n, accepted := range map[int]bool{0: true, 100: true, 101: false} {
		_, err := decisions.Create(ctx, &upstreamv1alpha1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{GenerateName: "n-"}, Decisions: make([]upstreamv1alpha1.ClusterDecision, n)}, metav1.CreateOptions{})
		if accepted && err != nil || !accepted && !apierrors.IsInvalid(err) {
			t.Errorf("%d decisions: %v", n, err)
		}
	}
	if _, err := decisions.Create(ctx, &upstreamv1alpha1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Name: "nil"}}, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("no decisions: %v", err)
	}
}

// TestOwnClient does the same with our client in protobuf, which tells an empty list of decisions from none as JSON does.
func TestOwnClient(t *testing.T) {
	ctx, namespace := t.Context(), newNamespace(t)
	config := rest.CopyConfig(hub.AdminConfig())
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	client := versioned.NewForConfigOrDie(config)

	profiles := client.MulticlusterV1alpha2().ClusterProfiles(namespace)
	profile, err := profiles.Create(ctx, &v1alpha2.ClusterProfile{
		ObjectMeta: metav1.ObjectMeta{Name: "c"},
		Spec:       v1alpha2.ClusterProfileSpec{ClusterManager: v1alpha2.ClusterManager{Name: ptr.To("m")}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	profile.Status.Properties = []v1alpha2.Property{{Name: "p", Value: "v", LastObservedTime: ptr.To(v1alpha2.Timestamp("2026-01-02T03:04:05.5Z"))}}
	if profile, err = profiles.UpdateStatus(ctx, profile, metav1.UpdateOptions{}); err != nil || *profile.Status.Properties[0].LastObservedTime != "2026-01-02T03:04:05.5Z" {
		t.Errorf("%v, %+v", err, profile)
	}
	applied, err := profiles.ApplyStatus(ctx, applyv1alpha2.ClusterProfile("c", namespace).WithStatus(applyv1alpha2.ClusterProfileStatus().WithVersion(applyv1alpha2.ClusterVersion().WithKubernetes("v1.37.2"))),
		metav1.ApplyOptions{FieldManager: "f"})
	if err != nil || applied.Status.Version.Kubernetes != "v1.37.2" || len(applied.Status.Properties) != 1 {
		t.Errorf("%v, %+v", err, applied)
	}

	for name, list := range map[string]v1alpha1.ClusterDecisions{"none": nil, "empty": {}} {
		created, err := client.MulticlusterV1alpha1().PlacementDecisions(namespace).Create(ctx, &v1alpha1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Name: name}, Decisions: list}, metav1.CreateOptions{})
		if list == nil && !apierrors.IsInvalid(err) || list != nil && (err != nil || created.Decisions == nil) {
			t.Errorf("%s: %v, %+v", name, err, created)
		}
	}
}

// TestInformers syncs every kind of informer on each kind, empty or not, and sees each change once (cases.md, 33).
func TestInformers(t *testing.T) {
	for _, n := range []int{0, 40} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			namespace := newNamespace(t)
			c := newCaller(t, hub.AdminConfig(), ours, namespace, "v1alpha2")
			for i := range n {
				c.must(post("clusterprofiles", profileNamed(fmt.Sprint("c", i), managed)))
				c.must(post("placementdecisions", decisionNamed(fmt.Sprint("d", i), `,"decisions":[]`)))
			}
			config := hub.AdminConfig()
			var informers []cache.SharedIndexInformer
			typed := externalversions.NewSharedInformerFactoryWithOptions(versioned.NewForConfigOrDie(config), 0, externalversions.WithNamespace(namespace))
			up := upstreaminformers.NewSharedInformerFactoryWithOptions(upstream.NewForConfigOrDie(config), 0, upstreaminformers.WithNamespace(namespace))
			informers = append(informers,
				typed.Multicluster().V1alpha1().ClusterProfiles().Informer(), typed.Multicluster().V1alpha2().ClusterProfiles().Informer(),
				typed.Multicluster().V1alpha1().PlacementDecisions().Informer(), typed.Multicluster().V1alpha2().PlacementDecisions().Informer(),
				up.Apis().V1alpha1().ClusterProfiles().Informer(), up.Apis().V1alpha1().PlacementDecisions().Informer())
			dyn := dynamicinformer.NewFilteredDynamicSharedInformerFactory(dynamic.NewForConfigOrDie(config), 0, namespace, nil)
			metas := metadatainformer.NewFilteredSharedInformerFactory(metadata.NewForConfigOrDie(config), 0, namespace, nil)
			for _, version := range []string{"v1alpha1", "v1alpha2"} {
				for _, resource := range []string{"clusterprofiles", "placementdecisions"} {
					gvr := schema.GroupVersionResource{Group: ours, Version: version, Resource: resource}
					informers = append(informers, dyn.ForResource(gvr).Informer(), metas.ForResource(gvr).Informer())
				}
			}
			var added, changed, deleted atomic.Int64
			for _, informer := range informers {
				if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
					AddFunc:    func(any) { added.Add(1) },
					UpdateFunc: func(any, any) { changed.Add(1) },
					DeleteFunc: func(any) { deleted.Add(1) },
				}); err != nil {
					t.Fatal(err)
				}
			}
			stop := t.Context().Done()
			typed.Start(stop)
			up.Start(stop)
			dyn.Start(stop)
			metas.Start(stop)
			for i, informer := range informers {
				ctx, cancel := context.WithTimeout(t.Context(), requestTimeout)
				if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
					t.Fatalf("informer %d does not sync", i)
				}
				cancel()
			}
			all := int64(len(informers))
			eventually(t, "initial objects", func() bool { return added.Load() == all*int64(n) })
			c.must(post("clusterprofiles", profileNamed("new", managed)))
			c.must(post("placementdecisions", decisionNamed("new", `,"decisions":[]`)))
			eventually(t, "new objects", func() bool { return added.Load() == all*int64(n)+all })
			c.must(patchStatus("new", `{"version":{"kubernetes":"v1.37.2"}}`))
			c.must(patch("placementdecisions/new", `{"schedulerName":"s"}`))
			eventually(t, "changes", func() bool { return changed.Load() == all })
			c.must(request{method: "DELETE", path: "clusterprofiles/new"})
			c.must(request{method: "DELETE", path: "placementdecisions/new"})
			eventually(t, "deletions", func() bool { return deleted.Load() == all })
		})
	}
}

// TestControllerRuntimeCache reads the upstream types through the cache that controllers are built on.
func TestControllerRuntimeCache(t *testing.T) {
	namespace := newNamespace(t)
	c := newCaller(t, hub.AdminConfig(), ours, namespace, "v1alpha1")
	crlog.SetLogger(klog.NewKlogr()) // Without one it complains with a stack.
	scheme := runtime.NewScheme()
	if err := upstreamv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	objects, err := crcache.New(hub.AdminConfig(), crcache.Options{Scheme: scheme, DefaultNamespaces: map[string]crcache.Config{namespace: {}}})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = objects.Start(t.Context()) }()
	var profiles upstreamv1alpha1.ClusterProfileList
	var decisions upstreamv1alpha1.PlacementDecisionList
	if err := objects.List(t.Context(), &profiles); err != nil || len(profiles.Items) != 0 {
		t.Fatalf("%v, %d profiles", err, len(profiles.Items))
	}
	c.must(post("clusterprofiles", profileNamed("a", managed)))
	c.must(post("placementdecisions", decisionNamed("d", `,"decisions":`+decisionList(3))))
	eventually(t, "cache", func() bool {
		return objects.List(t.Context(), &profiles) == nil && len(profiles.Items) == 1 && profiles.Items[0].Spec.ClusterManager.Name == "m" &&
			objects.List(t.Context(), &decisions) == nil && len(decisions.Items) == 1 && len(decisions.Items[0].Decisions) == 3
	})
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, met func() bool) {
	t.Helper()
	within(t, requestTimeout, what, met)
}

// within waits for a condition for some time.
func within(t *testing.T, limit time.Duration, what string, met func() bool) {
	t.Helper()
	deadline := time.After(limit)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !met() {
		select {
		case <-deadline:
			t.Fatalf("%s: still not so after %s", what, limit)
		case <-tick.C:
		}
	}
}
