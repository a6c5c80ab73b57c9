package kubectl

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// fleet sums clusters up, so that no cluster is kept.
type fleet struct {
	Resource string `json:"resource"`
	GroupBy  string `json:"groupBy"`
	// Clusters is how many there are; Phases, Versions and Groups split them.
	Clusters int64             `json:"clusters"`
	Phases   map[string]int64  `json:"phases"`
	Versions map[string]int64  `json:"versions"`
	Groups   map[string]*share `json:"groups"`
	// Oldest is the cluster whose last report is oldest, of those that ever reported.
	Oldest *oldest `json:"oldestReport,omitempty"`
	// Suspects is how many clusters have the condition HubSuspect, and SuspectSays its message.
	Suspects    int64  `json:"hubSuspect"`
	SuspectSays string `json:"hubSuspectMessage,omitempty"`
}

// share is what the clusters of one group have of the resource.
type share struct {
	Clusters int64 `json:"clusters"`
	Ready    int64 `json:"ready"`
	// Free is what no pod has asked for on clusters that are Ready; Total what pods can have on all.
	Free  resource.Quantity `json:"free"`
	Total resource.Quantity `json:"total"`
}

// oldest is a cluster by its last report.
type oldest struct {
	Cluster string                `json:"cluster"`
	Phase   v1alpha1.ClusterPhase `json:"phase"`
	Time    time.Time             `json:"time"`
}

type lister func(context.Context, metav1.ListOptions) (*v1alpha1.ClusterStatusList, error)

// attempts is how often a list is begun again when it takes so long that the server forgets what it began with.
const attempts = 3

// collect sums up a list page by page.
func collect(ctx context.Context, list lister, options metav1.ListOptions, name corev1.ResourceName, groupBy string) (*fleet, error) {
	for attempt := 1; ; attempt++ {
		f := &fleet{
			Resource: string(name), GroupBy: groupBy,
			Phases: map[string]int64{}, Versions: map[string]int64{}, Groups: map[string]*share{},
		}
		err := f.collect(ctx, list, options)
		if err == nil || attempt == attempts || !apierrors.IsResourceExpired(err) {
			return f, err
		}
	}
}

func (f *fleet) collect(ctx context.Context, list lister, options metav1.ListOptions) error {
	for {
		page, err := list(ctx, options)
		if err != nil {
			return err
		}
		for i := range page.Items {
			f.add(&page.Items[i])
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return nil
		}
	}
}

func (f *fleet) add(s *v1alpha1.ClusterStatus) {
	f.Clusters++
	f.Phases[string(s.Status.Phase)]++
	f.Versions[s.Status.KubernetesVersion]++
	name := groupOf(s, f.GroupBy)
	if f.Groups[name] == nil {
		f.Groups[name] = &share{}
	}
	f.Groups[name].add(s, corev1.ResourceName(f.Resource))
	if last := s.Status.LastReportTime; last != nil && (f.Oldest == nil || last.Time.Before(f.Oldest.Time)) {
		f.Oldest = &oldest{s.Namespace + "/" + s.Name, s.Status.Phase, last.UTC()}
	}
	if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionHubSuspect); c != nil && c.Status == metav1.ConditionTrue {
		f.Suspects++
		f.SuspectSays = c.Message
	}
}

func (g *share) add(s *v1alpha1.ClusterStatus, name corev1.ResourceName) {
	g.Clusters++
	ready := s.Status.Phase == v1alpha1.ClusterReady
	if ready {
		g.Ready++
	}
	if s.Status.Resources == nil {
		return
	}
	if ready {
		g.Free.Add(s.Status.Resources.Available[name])
	}
	g.Total.Add(s.Status.Resources.Allocatable[name])
}

// groupOf is the value of a label or, where the cluster has none, of a property; empty where it has neither.
func groupOf(s *v1alpha1.ClusterStatus, key string) string {
	if value, ok := s.Labels[key]; ok {
		return value
	}
	for i := range s.Status.Properties {
		if s.Status.Properties[i].Name == key {
			return s.Status.Properties[i].Value
		}
	}
	return ""
}
