package agent

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

func healthy(want metav1.ConditionStatus) func(v1alpha1.ClusterReportSpec) bool {
	return func(spec v1alpha1.ClusterReportSpec) bool {
		return len(spec.Conditions) == 1 && spec.Conditions[0].Type == v1alpha1.ConditionControlPlaneHealthy && spec.Conditions[0].Status == want
	}
}

// TestMemberIsAway kills the member's API server, and starts it again. An agent that knew the cluster goes on reporting what it knew, and says
// that the API server is away; one that starts in the meantime says nothing that it cannot know.
func TestMemberIsAway(t *testing.T) {
	fleet(t)
	s, late := newStandIn(t, nil), newStandIn(t, nil)
	startAgent(t, s)
	before := s.awaitReport(t, "a report of before", func(spec v1alpha1.ClusterReportSpec) bool { return gpusLeft("6")(spec) && healthy("True")(spec) })

	back := func() {
		if err := member.StartAPIServer(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
		back := admin()
		within(t, "an answer of the API server", func() bool {
			_, err := back.CoreV1().Nodes().List(context.WithoutCancel(t.Context()), metav1.ListOptions{})
			return err == nil
		}, func() any { return nil })
	}
	if err := member.APIServer.Kill(); err != nil {
		t.Fatal(err)
	}
	restarted := false
	t.Cleanup(func() {
		if !restarted {
			back()
		}
	})
	away := s.awaitReport(t, "a report that says that it is away", healthy("False"))
	before.Time, away.Time = nil, nil
	before.Conditions = []v1alpha1.ReportedCondition{{
		Type: "ControlPlaneHealthy", Status: "False", Reason: "APIServerUnreachable", Message: "The API server of the cluster does not answer its agent."}}
	if diff := cmp.Diff(before, away); diff != "" {
		t.Errorf("what is reported meanwhile (-before +meanwhile):\n%s", diff)
	}

	startAgent(t, late)
	first := late.awaitReport(t, "a first report without an API server", func(v1alpha1.ClusterReportSpec) bool { return true })
	if first.Nodes != nil || first.Resources != nil || first.KubernetesVersion != "" || healthy("True")(first) {
		t.Errorf("an agent that has seen nothing reports %+v", first)
	}

	back()
	restarted = true
	s.awaitReport(t, "a report that says that it is back", healthy("True"))
	makePod(t, "after", "gpu", corev1.PodRunning, asks("nvidia.com/gpu", "5"))
	s.awaitReport(t, "a change after the outage", gpusLeft("1"))
	late.awaitReport(t, "the same from the one that came later", gpusLeft("1"))
	for _, report := range append(s.taken(), late.taken()...) {
		if nodes := report.Spec.Nodes; nodes != nil && nodes.Total != 3 {
			t.Errorf("a report with %d nodes", nodes.Total)
		}
	}
}
