package derive

import (
	"time"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	pagesv1 "github.com/binnacle-dev/binnacle/pkg/apis/pages/v1"
	"github.com/binnacle-dev/binnacle/pkg/report/pages"
)

// Version of the derive function. Replicas of different versions never share resourceVersions.
const Version = 1

// MaxPlacementKeys is how many of the decisions that name a cluster its status lists.
const MaxPlacementKeys = 20

// uidSpace makes the uids of ClusterStatus out of those of ClusterProfiles.
var uidSpace = uuid.MustParse("5a5a7c1c-3d0c-4f0e-9a53-5b1b8a5e6f0d")

// Input is everything that a ClusterStatus is computed from.
type Input struct {
	// Profile is the ClusterProfile.
	Profile *multicluster.ClusterProfile
	// Facts are what the cluster reported last, nil where it never reported.
	Facts *pagesv1.Facts
	// Seen is when it reported. It counts together with Facts only.
	Seen pages.Seen
	// Head has the parameters, and whether many clusters are silent at once.
	Head pagesv1.Head
	// Placements are the decisions that name the cluster, sorted, each once.
	Placements []string
}

// UID returns the uid of the ClusterStatus of a ClusterProfile.
func UID(profile types.UID) types.UID {
	return types.UID(uuid.NewSHA1(uidSpace, []byte(profile)).String())
}

// ClusterStatus returns the view of one cluster, without a resourceVersion. It shares memory with the input, which must not change.
func ClusterStatus(in Input) *binnacle.ClusterStatus {
	profile := in.Profile
	out := &binnacle.ClusterStatus{ObjectMeta: metav1.ObjectMeta{
		Name: profile.Name, Namespace: profile.Namespace, Labels: profile.Labels,
		UID: UID(profile.UID), CreationTimestamp: profile.CreationTimestamp,
	}}
	status := &out.Status
	if name := profile.Spec.ClusterManager.Name; name != nil {
		status.ClusterManager = *name
	}
	status.KubernetesVersion = profile.Status.Version.Kubernetes
	status.Conditions = conditions(in)
	status.Phase = phase(in, status.Conditions)
	status.Properties = properties(in)
	status.Placements.Count = int32(len(in.Placements))
	status.Placements.Keys = in.Placements[:min(len(in.Placements), MaxPlacementKeys)]
	if in.Facts != nil {
		reported(in, status)
	}
	return out
}

// reported fills in what the cluster said last; of a silent one it is the last that is known.
func reported(in Input, status *binnacle.ClusterStatusStatus) {
	report := &in.Facts.Report
	last := in.Seen.LastSeen
	if !in.Seen.Silent { // A silent cluster has no next report that would make another event of it.
		last = max(pages.Coarse(in.Profile.UID, last, in.Head.Parameters), in.Seen.Changed)
	}
	status.LastReportTime = &metav1.Time{Time: at(last).Time}
	status.ReportIntervalSeconds = in.Seen.Interval
	status.ClockSkewSeconds = in.Facts.ClockSkewSeconds
	if report.KubernetesVersion != "" {
		status.KubernetesVersion = report.KubernetesVersion
	}
	if nodes := report.Nodes; nodes != nil {
		status.Nodes = &binnacle.NodeCounts{Total: nodes.Total, Ready: nodes.Ready}
	}
	if resources := report.Resources; resources != nil {
		status.Resources = &binnacle.ClusterResources{
			Capacity: resources.Capacity, Allocatable: resources.Allocatable, Available: resources.Available,
		}
	}
}

// properties are those of the report, and those of the profile that the report does not have.
func properties(in Input) []binnacle.SourcedProperty {
	var out []binnacle.SourcedProperty
	known := map[string]bool{}
	if in.Facts != nil {
		for i, p := range in.Facts.Report.Properties {
			known[p.Name] = true
			property := binnacle.SourcedProperty{Name: p.Name, Value: p.Value, Source: binnacle.SourceReport}
			if i < len(in.Facts.PropertyTimes) {
				property.Time = &metav1.Time{Time: at(in.Facts.PropertyTimes[i]).Time}
			}
			out = append(out, property)
		}
	}
	for _, p := range in.Profile.Status.Properties {
		if known[p.Name] {
			continue
		}
		property := binnacle.SourcedProperty{Name: p.Name, Value: p.Value, Source: binnacle.SourceClusterProfile}
		if p.LastObservedTime != nil {
			if observed, err := time.Parse(time.RFC3339, string(*p.LastObservedTime)); err == nil {
				property.Time = &metav1.Time{Time: observed.UTC()}
			}
		}
		out = append(out, property)
	}
	return out
}

// at is a time of the pages, in the whole seconds that the wire has.
func at(milliseconds int64) metav1.Time { return metav1.Unix(milliseconds/1000, 0) }
