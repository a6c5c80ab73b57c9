package agent

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

func TestReport(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	stamp, uid, seconds := metav1.NewTime(at), types.UID("u1"), int32(20)
	f := facts{newInventory(), &properties{}, newHealth()}
	want := v1alpha1.ClusterReportSpec{
		Time: &stamp, Conditions: []v1alpha1.ReportedCondition{{Type: "ControlPlaneHealthy", Status: "Unknown", Reason: ReasonNotProbed}}}
	compare := func(when string, c Config) {
		t.Helper()
		report, omitted := f.report(c, at)
		if diff := cmp.Diff(want, report.Spec); diff != "" || omitted != 0 {
			t.Errorf("%s: %d left out, report (-want +got):\n%s", when, omitted, diff)
		}
	}
	compare("nothing known", Config{})
	f.health.probed(nil, "v1.37.2")
	want.KubernetesVersion, want.Conditions[0].Status, want.Conditions[0].Reason = "v1.37.2", "True", ReasonAPIServerReady
	compare("version and health only", Config{})
	want.ClusterProfileUID, want.IntervalSeconds = &uid, &seconds
	compare("with what was asked for", Config{ProfileUID: "u1", Interval: 20 * time.Second})
	f.inventory = inventoryOf(t, []*corev1.Node{newNode("a", "cpu", "2", "memory", "1Gi")}, []*corev1.Pod{newPod("p", "a", "cpu", "1")})
	f.properties.replace(map[string]string{"cluster.clusterset.k8s.io": "c1"})
	want.Nodes = &v1alpha1.NodeCounts{Total: 1, Ready: 1}
	want.Properties = []v1alpha1.ReportedProperty{{Name: "cluster.clusterset.k8s.io", Value: "c1"}}
	want.Resources = &v1alpha1.ClusterResources{Capacity: list("cpu", "2"), Allocatable: list("cpu", "2"), Available: list("cpu", "1")}
	compare("all", Config{ProfileUID: "u1", Interval: 20 * time.Second, Resources: []string{"cpu"}})
	if !f.complete() {
		t.Error("all is known")
	}
	want.Conditions[0] = v1alpha1.ReportedCondition{
		Type: "ControlPlaneHealthy", Status: "False", Reason: ReasonAPIServerNotReady, Message: "The API server of the cluster answers 500 to /readyz."}
	f.health.probed(statusError(500), "")
	f.health.probed(statusError(500), "")
	compare("the last known facts, and that they are", Config{ProfileUID: "u1", Interval: 20 * time.Second, Resources: []string{"cpu"}})
}

// TestReportsFit wants the largest report to be taken.
func TestReportsFit(t *testing.T) {
	var pairs []string
	for n := range 300 {
		pairs = append(pairs, fmt.Sprintf("a.example/%03d%s", n, strings.Repeat("x", 60)), "1")
	}
	f := facts{inventoryOf(t, []*corev1.Node{newNode("a", append(pairs, "cpu", "1")...)}, nil), &properties{}, newHealth()}
	all := map[string]string{}
	for n := range 300 {
		all[fmt.Sprintf("%03d%s", n, strings.Repeat("p", 250))] = strings.Repeat("é", maxPropertyValue)
	}
	f.properties.replace(all)
	report, omitted := f.report(Config{}, time.Now())
	if size := report.Spec.Size(); size > maxReport {
		t.Errorf("%d bytes", size)
	}
	if _, ok := report.Spec.Resources.Available[corev1.ResourceCPU]; !ok {
		t.Error("without the processors")
	}
	if omitted+len(report.Spec.Properties) < 297 {
		t.Errorf("%d properties, %d left out", len(report.Spec.Properties), omitted)
	}
}
