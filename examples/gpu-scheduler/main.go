// Command gpu-scheduler is an example of a scheduler: it picks clusters that have enough free GPUs by their ClusterStatus, and writes a decision.
// It knows neither the workload nor how to reach a cluster. README.md tells how to run it.
//
// It may import client-go, pkg/apis and pkg/generated only.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned"
	multicluster "github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned/typed/multicluster/v1alpha2"
	"github.com/binnacle-dev/binnacle/pkg/generated/informers/externalversions"
	listers "github.com/binnacle-dev/binnacle/pkg/generated/listers/binnacle/v1alpha1"
)

type options struct {
	namespace, inventory, key string
	settle                    time.Duration
	want
}

func main() {
	var o options
	flag.StringVar(&o.namespace, "namespace", "default", "namespace of the decision")
	flag.StringVar(&o.inventory, "inventory", "", "namespace of the ClusterProfiles; that of the decision where it is empty")
	flag.StringVar(&o.key, "decision-key", "", "decision-key of the decision, and what the names of its slices begin with; required")
	flag.StringVar(&o.resource, "resource", "nvidia.com/gpu", "name of the resource that must be free")
	flag.Int64Var(&o.free, "free", 8, "how much of it must be free for a cluster to come in")
	flag.Int64Var(&o.keep, "keep", 4, "how much of it must be free for a cluster to stay; 0 lets it stay as long as it is reachable")
	flag.IntVar(&o.clusters, "clusters", 0, "how many clusters to pick; all that have enough where it is 0")
	flag.DurationVar(&o.settle, "settle", 5*time.Second, "how long after a change to wait for more of them before deciding")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run decides whenever a ClusterStatus changed, until it is told to end.
func run(ctx context.Context, o options) error {
	if o.key == "" || o.keep > o.free {
		return errors.New("-decision-key is required, and -keep is at most -free")
	}
	if o.inventory == "" {
		o.inventory = o.namespace
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return err
	}
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := externalversions.NewSharedInformerFactoryWithOptions(client, 0, externalversions.WithNamespace(o.inventory))
	statuses := factory.Binnacle().V1alpha1().ClusterStatuses()
	// The queue has one key: there is one decision. What changes while it settles is decided upon together.
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	changed := func(any) { queue.AddAfter(o.key, o.settle) }
	if _, err := statuses.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: changed, DeleteFunc: changed, UpdateFunc: func(_, s any) { changed(s) }}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	// An inventory that was not read whole looks like one from which clusters left.
	if !cache.WaitForCacheSync(ctx.Done(), statuses.Informer().HasSynced) {
		return nil
	}
	queue.Add(o.key)
	go func() {
		<-ctx.Done()
		queue.ShutDown()
	}()
	for {
		key, quit := queue.Get()
		if quit {
			return nil
		}
		if err := decide(ctx, o, statuses.Lister(), client.MulticlusterV1alpha2().PlacementDecisions(o.namespace)); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Trying again")
			queue.AddRateLimited(key)
		} else {
			queue.Forget(key)
		}
		queue.Done(key)
	}
}

// decide reads what is published, chooses anew, and publishes what differs.
func decide(ctx context.Context, o options, lister listers.ClusterStatusLister, decisions multicluster.PlacementDecisionInterface) error {
	stored, err := read(ctx, decisions, o.key)
	if err != nil {
		return err
	}
	statuses, err := lister.List(labels.Everything())
	if err != nil {
		return err
	}
	picked, err := pick(statuses, members(stored), o.want)
	if err != nil {
		klog.InfoS("The decision stays", "because", err)
		return nil // What ends the doubt is an event.
	}
	return publish(ctx, decisions, stored, o, picked)
}
