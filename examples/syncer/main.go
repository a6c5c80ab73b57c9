// Command syncer is an example of a consumer of decisions: it brings one object to every cluster of a decision and takes it away from those
// that left. It knows PlacementDecision and ClusterProfile, and neither who decides nor when. README.md tells how to run it.
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
	"sync"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha2"
	"github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned"
	"github.com/binnacle-dev/binnacle/pkg/generated/informers/externalversions"
)

// resync is after how long each cluster is looked at though nothing happened, so that what was changed on a member by hand is put right.
const resync = 10 * time.Minute

type options struct {
	namespace, key, inventory, manifest, providers string
	workers, attempts                              int
}

func main() {
	var o options
	flag.StringVar(&o.namespace, "namespace", "default", "namespace of the decision")
	flag.StringVar(&o.key, "decision-key", "", "decision-key of the decision to follow; required")
	flag.StringVar(&o.inventory, "inventory", "", "namespace of the ClusterProfiles; all namespaces where it is empty")
	flag.StringVar(&o.manifest, "manifest", "", "file with the object to bring, as YAML or JSON; $(CLUSTER) in it stands for the name of the cluster; required")
	flag.StringVar(&o.providers, "clusterprofile-provider-file", "", "file with the plugins that get credentials, as upstream's access library reads it; required")
	flag.IntVar(&o.workers, "workers", 8, "how many clusters are served at once")
	flag.IntVar(&o.attempts, "attempts", 5, "after how many failures in a row a cluster counts as failed; it is tried again all the same")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run follows the decision on the server of the kubeconfig until it is told to end.
func run(ctx context.Context, o options) error {
	if o.key == "" || o.manifest == "" || o.providers == "" {
		return errors.New("-decision-key, -manifest and -clusterprofile-provider-file are required")
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return err
	}
	config.QPS = -1 // Feedback comes in bursts; the server says itself when it is too much.
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return err
	}
	manifest, err := os.ReadFile(o.manifest)
	if err != nil {
		return err
	}
	members, err := newMembers(o.providers)
	if err != nil {
		return err
	}
	decisions := externalversions.NewSharedInformerFactoryWithOptions(client, resync, externalversions.WithNamespace(o.namespace),
		externalversions.WithTweakListOptions(func(l *metav1.ListOptions) { l.LabelSelector = v1alpha2.DecisionKeyLabel + "=" + o.key }))
	profiles := externalversions.NewSharedInformerFactoryWithOptions(client, resync, externalversions.WithNamespace(o.inventory))
	s := newSyncer(o, string(manifest), members, client.BinnacleV1alpha1().Rollouts(o.namespace),
		decisions.Multicluster().V1alpha2().PlacementDecisions(), profiles.Multicluster().V1alpha2().ClusterProfiles())
	decisions.Start(ctx.Done())
	profiles.Start(ctx.Done())
	// Before both lists were read whole, nothing can be said of who is in a decision and who is not.
	if !cache.WaitForCacheSync(ctx.Done(), s.synced...) {
		return nil
	}
	var group sync.WaitGroup
	for range o.workers {
		group.Go(func() { s.work(ctx) })
	}
	<-ctx.Done()
	s.queue.ShutDown()
	group.Wait()
	return nil
}
