// Command reporter is an example: it reports for a cluster as long as it runs. docs/reporter.md tells of it; the agent is for real use.
//
// It may import client-go, pkg/apis and pkg/generated only.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned"
	binnacle "github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned/typed/binnacle/v1alpha1"
)

func main() {
	namespace := flag.String("namespace", "inventory", "namespace of the ClusterProfile")
	name := flag.String("name", "", "name of the ClusterProfile")
	once := flag.Bool("once", false, "report once and end")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *namespace, *name, *once); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run reports to the server of the kubeconfig.
func run(ctx context.Context, namespace, name string, once bool) error {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return err
	}
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return err
	}
	clusters := client.BinnacleV1alpha1().ClusterStatuses(namespace)
	for {
		next, err := report(ctx, clusters, name)
		if once {
			return err
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(next):
		}
	}
}

// report reports once, and returns after how long to do so again.
func report(ctx context.Context, clusters binnacle.ClusterStatusInterface, name string) (time.Duration, error) {
	answer, err := clusters.Report(ctx, name, &v1alpha1.ClusterReport{Spec: v1alpha1.ClusterReportSpec{
		Time:              ptr.To(metav1.Now()),
		IntervalSeconds:   ptr.To[int32](10),
		KubernetesVersion: "v1.37.2",
		Nodes:             &v1alpha1.NodeCounts{Total: 3, Ready: 3},
		Conditions: []v1alpha1.ReportedCondition{
			{Type: v1alpha1.ConditionControlPlaneHealthy, Status: metav1.ConditionTrue, Reason: "LooksFine"},
		},
	}}, metav1.CreateOptions{})
	if err != nil {
		// The client has waited and tried again by itself where the server said so. The next report says it all anew.
		if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
			return time.Duration(seconds) * time.Second, err
		}
		return 10 * time.Second, err
	}
	return time.Duration(answer.Status.NextReportSeconds) * time.Second, nil
}
