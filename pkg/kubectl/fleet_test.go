package kubectl

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

const gpu, region = "nvidia.com/gpu", "topology.kubernetes.io/region"

// newCluster is a cluster that reported 20 seconds ago, with free of 8 GPUs.
func newCluster(name, where string, free int64, change ...func(*v1alpha1.ClusterStatus)) v1alpha1.ClusterStatus {
	s := v1alpha1.ClusterStatus{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "fleet", Labels: map[string]string{region: where}}}
	last := before(20 * time.Second)
	s.Status = v1alpha1.ClusterStatusStatus{Phase: v1alpha1.ClusterReady, KubernetesVersion: "v1.36.2", LastReportTime: &last, Resources: &v1alpha1.ClusterResources{
		Allocatable: corev1.ResourceList{gpu: *resource.NewQuantity(8, resource.DecimalSI), "memory": resource.MustParse("64Gi")},
		Available:   corev1.ResourceList{gpu: *resource.NewQuantity(free, resource.DecimalSI), "memory": resource.MustParse("20Gi")},
	}}
	for _, f := range change {
		f(&s)
	}
	return s
}

func silent(s *v1alpha1.ClusterStatus) {
	last := before(3 * time.Hour)
	s.Status.Phase, s.Status.LastReportTime, s.Status.KubernetesVersion = v1alpha1.ClusterUnreachable, &last, "v1.9.11"
	s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionHubSuspect, Status: metav1.ConditionTrue, Message: "30% of the clusters went silent at once"}}
}

func never(s *v1alpha1.ClusterStatus) {
	s.Labels, s.Status = nil, v1alpha1.ClusterStatusStatus{Phase: v1alpha1.ClusterUnknown}
}

func byProperty(s *v1alpha1.ClusterStatus) {
	s.Labels = nil
	s.Status.Properties = []v1alpha1.SourcedProperty{{Name: region, Value: "eu-central-1"}}
}

// pages serves clusters in pages.
func pages(clusters []v1alpha1.ClusterStatus, asked *[]int64) lister {
	return func(_ context.Context, o metav1.ListOptions) (*v1alpha1.ClusterStatusList, error) {
		*asked = append(*asked, o.Limit)
		from, _ := strconv.Atoi(o.Continue)
		to := min(len(clusters), from+int(o.Limit))
		list := &v1alpha1.ClusterStatusList{Items: clusters[from:to]}
		if to < len(clusters) {
			list.Continue = strconv.Itoa(to)
		}
		return list, nil
	}
}

func TestFleet(t *testing.T) {
	clusters := []v1alpha1.ClusterStatus{newCluster("a", "us-east-1", 8), newCluster("b", "us-east-1", 2), newCluster("c", "eu-central-1", 5, silent),
		newCluster("d", "", 3, byProperty), newCluster("e", "", 0, never), newCluster("f", "us-east-1", 8, func(s *v1alpha1.ClusterStatus) {
			s.Status.Phase, s.Status.KubernetesVersion = v1alpha1.ClusterNotReady, "v1.37.0-gke.1311000"
		})}
	for name, of := range map[string]struct{ resource, groupBy string }{"fleet": {gpu, region}, "fleet-memory": {"memory", "env"}} {
		var asked []int64
		sum, err := collect(t.Context(), pages(clusters, &asked), metav1.ListOptions{Limit: 4}, corev1.ResourceName(of.resource), of.groupBy)
		if err != nil || len(asked) != 2 {
			t.Errorf("%v after pages of %v", err, asked)
		}
		wantGolden(t, name, describeFleet(sum, noon))
	}
}

// TestFleetExpired begins anew, and counts nobody twice, where the server forgot the list meanwhile.
func TestFleetExpired(t *testing.T) {
	var clusters []v1alpha1.ClusterStatus
	for i := range 10 {
		clusters = append(clusters, newCluster(fmt.Sprint("c", i), "eu", 1))
	}
	var asked []int64
	list, failures := pages(clusters, &asked), 0
	expiring := func(ctx context.Context, o metav1.ListOptions) (*v1alpha1.ClusterStatusList, error) {
		if o.Continue == "8" && failures > 0 {
			failures--
			return nil, apierrors.NewResourceExpired("too old")
		}
		return list(ctx, o)
	}
	for times, well := range map[int]bool{0: true, 1: true, 2: true, 3: false} {
		failures = times
		sum, err := collect(t.Context(), expiring, metav1.ListOptions{Limit: 4}, gpu, region)
		if (err == nil) != well || well && sum.Clusters != 10 {
			t.Errorf("expired %d times: %d clusters, %v", times, sum.Clusters, err)
		}
	}
}

func TestNewestFirst(t *testing.T) {
	order := []string{"v1.37.0", "v1.36.10", "v1.36.9", "v1.9.0", "", "weird"}
	for i := range order {
		for k := range order {
			if got := newestFirst(order[i], order[k]); (got < 0) != (i < k) || (got == 0) != (i == k) {
				t.Errorf("%q to %q is %d", order[i], order[k], got)
			}
		}
	}
}
