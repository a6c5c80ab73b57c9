package rollout

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
)

// run is a status while it is changed.
type run struct {
	in     *Input
	spec   *binnacle.RolloutSpec
	before *binnacle.RolloutStatus
	status *binnacle.RolloutStatus
	// now is in whole seconds, as times are stored.
	now     metav1.Time
	targets map[binnacle.ClusterReference]*Target
	// index of each cluster in status.Clusters.
	index map[binnacle.ClusterReference]int
	// noted is how many transitions this call has added.
	noted int
	// blocked says that nothing takes the next step before a cluster or the hub changes.
	blocked bool
	// looked says that the targets were looked at, so that what depends on them can be told.
	looked bool
}

func newRun(in *Input) *run {
	r := &run{in: in, spec: &in.Rollout.Spec, before: &in.Rollout.Status, status: in.Rollout.Status.DeepCopy(),
		now: metav1.NewTime(in.Now.UTC().Truncate(time.Second)), targets: make(map[binnacle.ClusterReference]*Target, len(in.Targets))}
	r.status.Phase = phaseOf(r.status)
	for i := range in.Targets {
		target := &in.Targets[i]
		r.targets[r.ref(target.Namespace, target.Name)] = target
	}
	r.reindex()
	return r
}

// stamp is the time of the call.
func (r *run) stamp() *metav1.Time { return r.now.DeepCopy() }

func (r *run) reindex() {
	r.index = make(map[binnacle.ClusterReference]int, len(r.status.Clusters))
	for i, c := range r.status.Clusters {
		r.index[binnacle.ClusterReference{Name: c.Name, Namespace: c.Namespace}] = i
	}
}

// ref names a cluster as the status does: without the namespace where it is the Rollout's own.
func (r *run) ref(namespace, name string) binnacle.ClusterReference {
	if namespace == r.in.Rollout.Namespace {
		namespace = ""
	}
	return binnacle.ClusterReference{Name: name, Namespace: namespace}
}

// whole names a cluster with its namespace in any case.
func (r *run) whole(ref binnacle.ClusterReference) binnacle.ClusterReference {
	if ref.Namespace == "" {
		ref.Namespace = r.in.Rollout.Namespace
	}
	return ref
}

func (r *run) targetOf(c *binnacle.RolloutCluster) *Target {
	return r.targets[binnacle.ClusterReference{Name: c.Name, Namespace: c.Namespace}]
}

func (r *run) is(condition string) bool {
	return meta.IsStatusConditionTrue(r.status.Conditions, condition)
}

// held says whether a cluster is passed over.
func (r *run) held(target *Target) bool {
	return target != nil && (target.Terminating || !target.Connected && r.spec.Disconnected != binnacle.DisconnectedInclude)
}

// hold marks a cluster that is passed over.
func hold(c *binnacle.RolloutCluster, target *Target) {
	c.State, c.Reason = binnacle.ClusterHeld, target.Reason
	if target.Terminating {
		c.Reason = binnacle.ReasonTerminating
	}
}

// IsThrough says whether a cluster is in the decision.
func IsThrough(c *binnacle.RolloutCluster) bool { return len(c.History)%2 == 1 }

// WasThrough says whether a cluster was in the decision at a revision.
func WasThrough(c *binnacle.RolloutCluster, revision int64) bool {
	at, _ := slices.BinarySearch(c.History, revision+1)
	return at%2 == 1
}

func waits(c *binnacle.RolloutCluster) bool {
	return c.State == binnacle.ClusterPending || c.State == binnacle.ClusterHeld
}

// revise begins a new revision, one for all that a call changes.
func (r *run) revise() {
	if r.status.Revision == r.before.Revision {
		r.status.Revision++
	}
}

// takeOut removes a cluster from the decision.
func (r *run) takeOut(c *binnacle.RolloutCluster) {
	r.revise()
	c.History, c.Slice = append(c.History, r.status.Revision), 0
}

// letIn adds clusters to the decision: to the last slice that has any, then to new ones. All that goes must have gone before.
func (r *run) letIn(clusters []int) {
	if len(clusters) == 0 {
		return
	}
	r.revise()
	slice, filled := r.lastSlice()
	for _, i := range clusters {
		if filled == multicluster.MaxDecisionsPerSlice {
			slice, filled = slice+1, 0
		}
		c := &r.status.Clusters[i]
		c.History, c.State, c.Reason, c.Slice = append(c.History, r.status.Revision), binnacle.ClusterIn, "", slice
		filled++
	}
}

// lastSlice is the last slice that has clusters, and how many.
func (r *run) lastSlice() (slice int32, filled int) {
	for i := range r.status.Clusters {
		c := &r.status.Clusters[i]
		switch {
		case !IsThrough(c) || c.Slice < slice:
		case c.Slice > slice:
			slice, filled = c.Slice, 1
		default:
			filled++
		}
	}
	return slice, filled
}
