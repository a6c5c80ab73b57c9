package integration

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned"
	"github.com/binnacle-dev/binnacle/pkg/generated/informers/externalversions"
)

var clusterStatuses = v1alpha1.SchemeGroupVersion.WithResource("clusterstatuses")

// testStatusTypedClient reports and reads with our client, in protobuf and in JSON.
func testStatusTypedClient(t *testing.T, f fleet) {
	for name, mediaType := range map[string]string{"protobuf": runtime.ContentTypeProtobuf, "json": jsonType} {
		config := rest.CopyConfig(f.config)
		config.ContentType, config.AcceptContentTypes = mediaType, mediaType
		client := versioned.NewForConfigOrDie(config).BinnacleV1alpha1().ClusterStatuses(f.namespace)
		f.add(name)
		if _, err := client.GetReport(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("a report that there is none of: %v", err)
		}
		sent := &v1alpha1.ClusterReport{Spec: v1alpha1.ClusterReportSpec{
			IntervalSeconds: ptr.To(int32(3600)), KubernetesVersion: "v1.37.2", Nodes: &v1alpha1.NodeCounts{Total: 3, Ready: 2},
			Resources:  &v1alpha1.ClusterResources{Allocatable: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}},
			Properties: []v1alpha1.ReportedProperty{{Name: "empty"}, {Name: "where", Value: "fra"}},
		}}
		answered, err := client.Report(t.Context(), name, sent, metav1.CreateOptions{})
		if err != nil || answered.Metadata.Name != name || answered.Status.NextReportSeconds == 0 || answered.Status.ReceivedTime == nil {
			t.Fatalf("%v, %+v", err, answered)
		}
		f.untilPhase(name, "Ready")
		read, err := client.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		gpus := read.Status.Resources.Allocatable["nvidia.com/gpu"]
		if s := read.Status; s.Phase != v1alpha1.ClusterReady || *s.Nodes != *sent.Spec.Nodes || gpus.Value() != 8 || len(s.Properties) != 2 || s.Properties[1].Source != v1alpha1.SourceReport ||
			!meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionReachable) || s.LastReportTime.IsZero() {
			t.Errorf("%s: status is %+v", name, s)
		}
		newest, err := client.GetReport(t.Context(), name, metav1.GetOptions{})
		if err != nil || newest.Spec.KubernetesVersion != "v1.37.2" || len(newest.Spec.Properties) != 2 || newest.Spec.Properties[0] != (v1alpha1.ReportedProperty{Name: "empty"}) {
			t.Errorf("%v, %+v", err, newest)
		}
		list, err := client.List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		if err != nil || len(list.Items) != 1 || list.Items[0].ResourceVersion != read.ResourceVersion || list.Items[0].UID != read.UID {
			t.Errorf("%v, %+v", err, list)
		}
	}
}

// testStatusInformers syncs each kind of informer, empty or not, by the streamed list, and sees each change once (cases.md, 33 and 35).
func testStatusInformers(t *testing.T, f fleet) {
	for _, existing := range []string{"", "a"} {
		if existing != "" {
			f.add(existing)
		}
		typed := externalversions.NewSharedInformerFactoryWithOptions(versioned.NewForConfigOrDie(f.config), 0, externalversions.WithNamespace(f.namespace))
		statuses := typed.Binnacle().V1alpha1().ClusterStatuses()
		all := []cache.SharedIndexInformer{
			statuses.Informer(),
			dynamicinformer.NewFilteredDynamicSharedInformerFactory(dynamic.NewForConfigOrDie(f.config), 0, f.namespace, nil).ForResource(clusterStatuses).Informer(),
			metadatainformer.NewFilteredSharedInformerFactory(metadata.NewForConfigOrDie(f.config), 0, f.namespace, nil).ForResource(clusterStatuses).Informer(),
		}
		var added, changed, deleted atomic.Int64
		for i, informer := range all {
			if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
				AddFunc: func(any) { added.Add(1) }, UpdateFunc: func(any, any) { changed.Add(1) }, DeleteFunc: func(any) { deleted.Add(1) },
			}); err != nil {
				t.Fatal(err)
			}
			go informer.Run(t.Context().Done())
			eventually(t, fmt.Sprintf("informer %d to be in sync", i), informer.HasSynced)
		}
		n, initial := int64(len(all)), int64(len(all)*len(existing))
		wantCount(t, "objects at first", &added, initial)
		name := "new" + existing
		f.add(name)
		wantCount(t, "new objects", &added, initial+n)
		f.report(name, rarely)
		wantCount(t, "changes", &changed, n)
		found, err := statuses.Lister().ClusterStatuses(f.namespace).Get(name)
		if err != nil || found.Status.Phase != v1alpha1.ClusterReady {
			t.Errorf("%v, %+v", err, found)
		}
		if listed, err := statuses.Lister().List(labels.Everything()); err != nil || len(listed) != 1+len(existing) {
			t.Errorf("%v, %d listed", err, len(listed))
		}
		f.profiles.must(request{method: "DELETE", path: "clusterprofiles/" + name})
		wantCount(t, "deletions", &deleted, n)
		if got := changed.Load(); got != n {
			t.Errorf("%d changes came, want %d", got, n)
		}
	}
}

// wantCount waits for a count, and wants it not to be passed.
func wantCount(t *testing.T, what string, count *atomic.Int64, want int64) {
	t.Helper()
	eventually(t, what, func() bool { return count.Load() >= want })
	if got := count.Load(); got != want {
		t.Errorf("%s: %d, want %d", what, got, want)
	}
}

// testStatusEncodings reads in each form that a client may ask for.
func testStatusEncodings(t *testing.T, f fleet) {
	f.add("a")
	each(len(answers), len(answers), func(i int) {
		e := answers[i]
		for path, fits := range map[string]bool{
			"clusterstatuses/a": e.name != "list of metadata",
			"clusterstatuses":   !strings.HasPrefix(e.name, "metadata"),
			"clusterstatuses?watch=true&timeoutSeconds=1": e.name != "list of metadata" && e.name != "YAML",
		} {
			want := "yes"
			if e.name == "CBOR" || !fits {
				want = "406"
			}
			if got := cell(f.statuses.do(request{method: "GET", path: path, accept: e.mediaType}), e.mediaType); got != want && (fits || got != "the object") {
				t.Errorf("%s in %s: %s, want %s", path, e.name, got, want)
			}
		}
	})
}
