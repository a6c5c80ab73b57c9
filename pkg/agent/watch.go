package agent

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

const (
	// pageSize is for API servers that cannot stream a list: pages bound what is in memory besides digests.
	pageSize = 500
	// firstRetry and lastRetry bound the time between attempts to watch.
	firstRetry, lastRetry = time.Second, 30 * time.Second
)

// withRoom are the pods that take room: all others are of no interest, and their changes are not sent at all.
var withRoom = fields.AndSelectors(
	fields.OneTermNotEqualSelector("spec.nodeName", ""),
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
)

var clusterProperties = schema.GroupVersionResource{Group: "about.k8s.io", Version: "v1beta1", Resource: "clusterproperties"}

// watcher keeps a store up to date.
type watcher struct {
	name string
	// reflector ends with an error or, after a while, without one, and is run again.
	reflector *cache.Reflector
	// absent is called when the API server does not have the kind, or does not let us read it. It may be nil.
	absent func(error)
}

func watchers(config *rest.Config, i *inventory, p *properties) ([]watcher, error) {
	core := rest.CopyConfig(config)
	core.ContentType, core.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	coreClient, err := typedcorev1.NewForConfig(core)
	if err != nil {
		return nil, err
	}
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	nodes := cache.NewFilteredListWatchFromClient(coreClient.RESTClient(), "nodes", metav1.NamespaceAll, func(*metav1.ListOptions) {})
	pods := cache.NewFilteredListWatchFromClient(coreClient.RESTClient(), "pods", metav1.NamespaceAll, func(o *metav1.ListOptions) {
		o.FieldSelector = withRoom.String()
	})
	shrinkPages(pods)
	about := dynamicClient.Resource(clusterProperties)
	property := &unstructured.Unstructured{}
	property.SetGroupVersionKind(clusterProperties.GroupVersion().WithKind("ClusterProperty"))
	return []watcher{
		{"nodes", reflector("nodes", nodes, &corev1.Node{}, nodeStore{i}), nil},
		{"pods", reflector("pods", pods, &corev1.Pod{}, podStore{i}), nil},
		{"clusterproperties", reflector("clusterproperties", &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return about.List(ctx, o) },
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return about.Watch(ctx, o)
			},
		}, property, propertyStore{p}), p.absent},
	}, nil
}

// shrinkPages makes less of the pods of each page of a list, for API servers that cannot stream it: until the last page is there, all of
// them are in memory.
func shrinkPages(pods *cache.ListWatch) {
	list := pods.ListWithContextFunc
	pods.ListWithContextFunc = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		page, err := list(ctx, o)
		if found, ok := page.(*corev1.PodList); ok && err == nil {
			for i := range found.Items {
				found.Items[i] = shrunk(&found.Items[i])
			}
		}
		return page, err
	}
}

func reflector(name string, lw cache.ListerWatcher, kind any, store cache.ReflectorStore) *cache.Reflector {
	r := cache.NewReflectorWithOptions(lw, kind, store, cache.ReflectorOptions{Name: name})
	r.WatchListPageSize = pageSize
	return r
}

// run watches until ctx ends. What is known stays while the API server is away.
func (w watcher) run(ctx context.Context) {
	logger := klog.FromContext(ctx).WithValues("watch", w.name)
	ctx = klog.NewContext(ctx, logger)
	newBackoff := func() wait.Backoff {
		return wait.Backoff{Duration: firstRetry, Factor: 2, Jitter: 0.5, Steps: 100, Cap: lastRetry}
	}
	backoff, told := newBackoff(), ""
	for ctx.Err() == nil {
		began := time.Now()
		err := w.reflector.ListAndWatchWithContext(ctx)
		if time.Since(began) > lastRetry {
			backoff = newBackoff()
		}
		delay := backoff.Step()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			told = ""
		case w.absent != nil && (apierrors.IsNotFound(err) || apierrors.IsForbidden(err)):
			w.absent(err)
			delay = wait.Jitter(lastRetry/2, 1)
			if reason := string(apierrors.ReasonForError(err)); told != reason {
				logger.Info("There is nothing to watch; looking again from time to time", "reason", reason)
				told = reason
			}
		default:
			logger.Error(err, "Cannot watch", "retryAfter", fmt.Sprintf("%.1fs", delay.Seconds()))
			told = ""
		}
		sleep(ctx, delay)
	}
}

// sleep waits, and says whether it was not ended before.
func sleep(ctx context.Context, delay time.Duration) bool {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
