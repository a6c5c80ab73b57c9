package rollout

import (
	"slices"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// follow brings the clusters of the run in line with what the targets are now, as the drift policy says. Who is deleted leaves in any case.
func (r *run) follow() {
	if r.status.Phase == aborted || r.status.Phase == rolledBack {
		r.letGo()
		return
	}
	r.looked = true
	before := r.status.Revision
	r.dropGone()
	follows := r.spec.Drift == binnacle.DriftFollow && r.isSelecting() && !r.in.MassSilence // What is known of clusters then is old.
	for i := range r.status.Clusters {
		c := &r.status.Clusters[i]
		if target := r.targetOf(c); target != nil && !target.Selected && follows && c.State != binnacle.ClusterLeaving && c.State != binnacle.ClusterSkipped {
			r.skip(c, binnacle.ReasonNotTargeted)
		}
	}
	r.noteSince(before, "leave")
	r.passOver()
	if !r.isSelecting() {
		return // Who waits for the next run waits still.
	}
	joined := r.joined()
	switch {
	case r.spec.Drift == binnacle.DriftFreeze || !r.hasRoomFor(joined):
		r.leaveOut(joined)
	case r.spec.Drift == binnacle.DriftFollow:
		r.leaveOut(nil)
		r.insert(joined)
	default:
		r.leaveOut(nil)
		r.append(joined)
	}
}

// passOver holds who waits and is being deleted: no step is left for it. Who waits for the last step is held by that.
func (r *run) passOver() {
	for i := range r.status.Clusters {
		c := &r.status.Clusters[i]
		if target := r.targetOf(c); target != nil && target.Terminating && waits(c) && c.Reason != binnacle.ReasonJoined {
			hold(c, target)
		}
	}
}

// letGo has only who is deleted leave, where the targets are not followed.
func (r *run) letGo() {
	r.looked = true
	before := r.status.Revision
	r.dropGone()
	r.noteSince(before, "leave")
}

// isSelecting says whether the targets are any cluster. None at all is not followed: a producer that is in the middle of a change, or fails,
// would otherwise empty the decision, which consumers take as an order to remove what they brought.
func (r *run) isSelecting() bool {
	for i := range r.in.Targets {
		if r.in.Targets[i].Selected {
			return true
		}
	}
	return false
}

// dropGone skips who has no ClusterProfile any more.
func (r *run) dropGone() {
	for i := range r.status.Clusters {
		if c := &r.status.Clusters[i]; r.targetOf(c) == nil && (c.State != binnacle.ClusterSkipped || IsThrough(c)) {
			r.skip(c, binnacle.ReasonGone)
		}
	}
}

// skip makes a cluster a target no more.
func (r *run) skip(c *binnacle.RolloutCluster, reason string) {
	if IsThrough(c) {
		r.takeOut(c)
	}
	if c.Reason == binnacle.ReasonJoined {
		reason = binnacle.ReasonNotTargeted // It never was one that percentages are of.
	}
	c.State, c.Reason = binnacle.ClusterSkipped, reason
}

// joined are the selected clusters that are no targets of the run, in order.
func (r *run) joined() []place {
	var refs []binnacle.ClusterReference
	for ref, target := range r.targets {
		if !target.Selected || target.Terminating {
			continue
		}
		if i, known := r.index[ref]; !known || r.status.Clusters[i].State == binnacle.ClusterSkipped {
			refs = append(refs, ref)
		}
	}
	return r.ordered(refs)
}

// leaveOut lists who waits for the next run.
func (r *run) leaveOut(joined []place) {
	r.status.Counts.LeftOut, r.status.LeftOut = int32(len(joined)), nil
	refs := make([]binnacle.ClusterReference, 0, len(joined))
	for _, p := range joined {
		refs = append(refs, r.ref(p.ref.Namespace, p.ref.Name))
	}
	slices.SortFunc(refs, compareReferences)
	if len(refs) > 0 {
		r.status.LeftOut = refs[:min(len(refs), MaxLeftOut)]
	}
}

// pendingOf is the entry of a cluster that joins. One that was in the run before keeps its history.
func (r *run) pendingOf(p place, reason string) binnacle.RolloutCluster {
	ref := r.ref(p.ref.Namespace, p.ref.Name)
	c := binnacle.RolloutCluster{Name: ref.Name, Namespace: ref.Namespace, State: binnacle.ClusterPending, Reason: reason}
	if i, known := r.index[ref]; known {
		c.History = r.status.Clusters[i].History
	}
	return c
}

// without are the clusters of the run less those that join anew.
func (r *run) without(joined []place) []binnacle.RolloutCluster {
	again := map[binnacle.ClusterReference]bool{}
	for _, p := range joined {
		again[r.ref(p.ref.Namespace, p.ref.Name)] = true
	}
	kept := make([]binnacle.RolloutCluster, 0, len(r.status.Clusters)+len(joined))
	for _, c := range r.status.Clusters {
		if !again[binnacle.ClusterReference{Name: c.Name, Namespace: c.Namespace}] {
			kept = append(kept, c)
		}
	}
	return kept
}

// append puts who joined at the end, to come in with the last step.
func (r *run) append(joined []place) {
	if len(joined) == 0 {
		return
	}
	clusters := r.without(joined)
	for _, p := range joined {
		clusters = append(clusters, r.pendingOf(p, binnacle.ReasonJoined))
	}
	r.status.Clusters = clusters
	r.reindex()
}

// insert puts who joined where the order wants it among those that wait. All others stay in the order that they have.
func (r *run) insert(joined []place) {
	if len(joined) == 0 {
		return
	}
	kept := r.without(joined)
	clusters := make([]binnacle.RolloutCluster, 0, cap(kept))
	rest := joined
	for _, c := range kept {
		if waits(&c) {
			here := r.placeOf(binnacle.ClusterReference{Name: c.Name, Namespace: c.Namespace})
			for len(rest) > 0 && comparePlaces(rest[0], here) < 0 {
				clusters, rest = append(clusters, r.pendingOf(rest[0], "")), rest[1:]
			}
		}
		clusters = append(clusters, c)
	}
	for _, p := range rest {
		clusters = append(clusters, r.pendingOf(p, ""))
	}
	r.status.Clusters = clusters
	r.reindex()
}
