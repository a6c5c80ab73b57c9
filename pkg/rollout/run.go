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
	// ticked says that this is a tick, which alone knows whether anything is in its way.
	ticked bool
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

// letIn adds clusters to the decision. All that goes must have gone before.
func (r *run) letIn(clusters []int) {
	if len(clusters) == 0 {
		return
	}
	r.revise()
	places := r.places()
	for _, i := range clusters {
		c := &r.status.Clusters[i]
		c.History, c.State, c.Reason, c.Slice = append(c.History, r.status.Revision), binnacle.ClusterIn, "", places.take()
	}
}

// freePlaces are where clusters that come in go: to the last slice that has any, then to what is free in those before it, from the lowest, then
// to new ones. Nobody is moved for it. Since a new slice is begun only when all others are full, there are never more than the most clusters
// that ever were in at once need: 1 for each 100, rounded up.
type freePlaces struct {
	filled []int
	// at is the slice that is filled, and next where the search for holes goes on.
	at, next int
}

func (r *run) places() *freePlaces {
	p := &freePlaces{filled: []int{0}}
	for i := range r.status.Clusters {
		if c := &r.status.Clusters[i]; IsThrough(c) {
			for int(c.Slice) >= len(p.filled) {
				p.filled = append(p.filled, 0)
			}
			p.filled[c.Slice]++
		}
	}
	p.at = len(p.filled) - 1
	return p
}

// take is the slice of the next cluster.
func (p *freePlaces) take() int32 {
	for p.filled[p.at] >= multicluster.MaxDecisionsPerSlice {
		p.at = p.next
		p.next++
		if p.at == len(p.filled) {
			p.filled = append(p.filled, 0)
		}
	}
	p.filled[p.at]++
	return int32(p.at)
}
