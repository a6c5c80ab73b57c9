package agent

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// maxReport is how large a report may get. The hub takes 64 KiB.
const maxReport = 60 << 10

// facts are what is known of the cluster, and stay known while its API server is away.
type facts struct {
	inventory  *inventory
	properties *properties
	health     *health
}

// complete says whether everything is known.
func (f facts) complete() bool {
	return f.inventory.listed() && f.properties.isListed() && f.health.isProbed()
}

// report puts the facts into a report. What is not known is left out. omitted is how many properties do not fit.
func (f facts) report(c Config, now time.Time) (report *v1alpha1.ClusterReport, omitted int) {
	condition, version := f.health.state()
	at := metav1.NewTime(now)
	report = &v1alpha1.ClusterReport{Spec: v1alpha1.ClusterReportSpec{
		Time:              &at,
		KubernetesVersion: version,
		Conditions:        []v1alpha1.ReportedCondition{condition},
	}}
	if c.ProfileUID != "" {
		uid := types.UID(c.ProfileUID)
		report.Spec.ClusterProfileUID = &uid
	}
	if c.Interval > 0 {
		seconds := int32(c.Interval / time.Second)
		report.Spec.IntervalSeconds = &seconds
	}
	if nodes, resources, ok := f.inventory.summarize(c.Resources); ok {
		report.Spec.Nodes, report.Spec.Resources = nodes, resources
	}
	report.Spec.Properties, omitted = f.properties.summarize()
	return report, omitted + fit(&report.Spec)
}

// fit leaves properties out of a report that is too large, the last ones first, and returns how many; then resources of vendors.
func fit(spec *v1alpha1.ClusterReportSpec) (omitted int) {
	for ; spec.Size() > maxReport && len(spec.Properties) > 0; omitted++ {
		spec.Properties = spec.Properties[:len(spec.Properties)-1]
	}
	for n := maxResources; spec.Size() > maxReport && n > 0; n /= 2 {
		shorten(spec.Resources, n/2)
	}
	return omitted
}
