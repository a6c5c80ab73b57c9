package rollout

import (
	"slices"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// record keeps the revision of this call for rollback.
func (r *run) record() {
	if r.status.Revision == r.before.Revision {
		return
	}
	revision := binnacle.RolloutRevision{Revision: r.status.Revision, Time: r.now}
	if r.status.Step != nil {
		revision.Step = r.status.Step.Name
	}
	for i := range r.status.Clusters {
		if IsThrough(&r.status.Clusters[i]) {
			revision.Clusters++
		}
	}
	r.status.Revisions = append(r.status.Revisions, revision)
	if extra := len(r.status.Revisions) - MaxRecorded; extra > 0 {
		r.status.Revisions = slices.Clone(r.status.Revisions[extra:])
	}
}

// forget drops from the histories what neither a recorded revision nor the base of the run needs, so that they stay short however often
// a cluster comes and goes. Where they are still too much together, the oldest revisions are forgotten too.
func (r *run) forget() {
	for (r.trim() > MaxHistory || r.room() > MaxClusterBytes) && len(r.status.Revisions) > 0 {
		r.status.Revisions = slices.Clone(r.status.Revisions[1:])
	}
}

// trim drops from the histories what nobody needs, and says how much is left.
func (r *run) trim() int {
	left := 0
	needed := []int64{r.status.BaseRevision}
	for _, revision := range r.status.Revisions {
		needed = append(needed, revision.Revision)
	}
	slices.Sort(needed)
	for i := range r.status.Clusters {
		c := &r.status.Clusters[i]
		for k := 0; k+1 < len(c.History); {
			// Between two moves, from one up to before the other, the cluster was in one state. Nobody asks for it: both are dropped.
			at, _ := slices.BinarySearch(needed, c.History[k])
			if at < len(needed) && needed[at] < c.History[k+1] {
				k++
				continue
			}
			c.History = slices.Delete(c.History, k, k+2)
			k = max(0, k-1)
		}
		if len(c.History) == 0 {
			c.History = nil
		}
		left += len(c.History)
	}
	return left
}

// prune drops who is no target and was through at no revision that is needed, unless the targets are frozen: those that come and go would
// fill the status otherwise.
func (r *run) prune() {
	drift := r.spec.Drift
	if drift == binnacle.DriftFreeze {
		return
	}
	r.status.Clusters = slices.DeleteFunc(r.status.Clusters, func(c binnacle.RolloutCluster) bool {
		return c.State == binnacle.ClusterSkipped && len(c.History) == 0 && (r.status.Phase == completed || !isTarget(&c, drift))
	})
}

// restore goes back to who was through at a revision, as far as they still exist, and are not about to be deleted.
func (r *run) restore(revision int64) {
	var back []int
	for i := range r.status.Clusters {
		c := &r.status.Clusters[i]
		target := r.targetOf(c)
		want := WasThrough(c, revision) && target != nil && (IsThrough(c) || !target.Terminating)
		switch {
		case want && !IsThrough(c):
			back = append(back, i)
		case want && c.State == binnacle.ClusterLeaving:
			c.State = binnacle.ClusterIn
		case !want && IsThrough(c):
			r.takeOut(c)
			c.State, c.Reason = binnacle.ClusterPending, ""
		case c.State == binnacle.ClusterHeld:
			c.State, c.Reason = binnacle.ClusterPending, ""
		}
	}
	r.letIn(back)
}
