package rollout

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// start begins a run: it pins the selected clusters in their order. Who is through stays so: as a target, or until the last step.
func (r *run) start(actor Actor) error {
	r.looked = true
	var refs []binnacle.ClusterReference
	for ref, target := range r.targets {
		if target.Selected && (!target.Terminating || r.isIn(ref)) {
			refs = append(refs, ref)
		}
	}
	switch {
	case len(refs) == 0:
		return r.refuse(ReasonNoTargets, "the targets select no cluster")
	case len(refs) > MaxTargets:
		return r.refuse(ReasonTooMany, "the targets select %d clusters, and a rollout takes at most %d", len(refs), MaxTargets)
	}
	r.dropGone()
	r.pin(r.ordered(refs))
	if !r.fits() {
		return r.refuse(ReasonTooMany, "the targets select %d clusters; with who is through already there are %d, which take up to %d bytes of the status, and a rollout takes at most %d in %d bytes",
			len(refs), len(r.status.Clusters), r.room(), MaxTargets, MaxClusterBytes)
	}
	status := r.status
	status.Phase, status.Step, status.CompletionTime, status.StartTime = progressing, nil, nil, r.stamp()
	status.StartedBy, status.PlanHash = actor.User, planHash(r.spec)
	for _, condition := range []string{binnacle.ConditionPaused, binnacle.ConditionStopped} {
		meta.RemoveStatusCondition(&status.Conditions, condition)
	}
	r.leaveOut(nil)
	return nil
}

// isIn says whether a cluster is through.
func (r *run) isIn(ref binnacle.ClusterReference) bool {
	i, known := r.index[ref]
	return known && IsThrough(&r.status.Clusters[i])
}

// fits makes the run begin at the revision before, and forgets all revisions before that where the clusters are too many, or too much, otherwise.
func (r *run) fits() bool {
	r.status.BaseRevision = r.before.Revision
	if r.hasRoomFor(nil) {
		return true
	}
	r.status.Revisions = nil
	r.trim()
	r.status.Clusters = slices.DeleteFunc(r.status.Clusters, func(c binnacle.RolloutCluster) bool {
		return c.State == binnacle.ClusterSkipped && len(c.History) == 0
	})
	r.reindex()
	return r.hasRoomFor(nil)
}

// pin makes the targets of a new run, and keeps beside them who is through or was so at a recorded revision.
func (r *run) pin(places []place) {
	clusters := make([]binnacle.RolloutCluster, 0, len(places))
	pinned := map[binnacle.ClusterReference]bool{}
	for _, p := range places {
		ref := r.ref(p.ref.Namespace, p.ref.Name)
		c := binnacle.RolloutCluster{Name: ref.Name, Namespace: ref.Namespace, State: binnacle.ClusterPending}
		if i, known := r.index[ref]; known {
			c.History, c.Slice = r.status.Clusters[i].History, r.status.Clusters[i].Slice
		}
		if IsThrough(&c) {
			c.State = binnacle.ClusterIn
		}
		clusters, pinned[ref] = append(clusters, c), true
	}
	for _, c := range r.status.Clusters {
		if pinned[binnacle.ClusterReference{Name: c.Name, Namespace: c.Namespace}] || len(c.History) == 0 {
			continue
		}
		c.State, c.Reason = binnacle.ClusterSkipped, binnacle.ReasonNotTargeted
		if IsThrough(&c) {
			c.State, c.Reason = binnacle.ClusterLeaving, ""
		}
		clusters = append(clusters, c)
	}
	r.status.Clusters = clusters
	r.reindex()
}

// isStale says whether a new run would differ from the one that is complete.
func (r *run) isStale() bool {
	if r.status.PlanHash != planHash(r.spec) {
		return true
	}
	selected := 0
	for ref, target := range r.targets {
		if !target.Selected {
			continue
		}
		i, known := r.index[ref]
		switch isOf := known && r.status.Clusters[i].State != binnacle.ClusterSkipped; {
		case isOf:
			selected++
		case !target.Terminating:
			return true
		}
	}
	for i := range r.status.Clusters {
		if c := &r.status.Clusters[i]; c.State != binnacle.ClusterSkipped {
			selected--
		}
	}
	return selected != 0
}

// planHash tells plans apart, not more.
func planHash(spec *binnacle.RolloutSpec) string {
	data, err := json.Marshal([]any{spec.Targets, spec.Order, spec.Steps})
	if err != nil {
		return "" // Not for values of these types.
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// requestHash tells requests under one idempotency key apart.
func requestHash(req Request) string {
	data, err := json.Marshal(req.RolloutActionSpec)
	if err != nil {
		return "" // Not for values of these types.
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{string(req.Verb), req.Actor.User, string(data)}, "\x00")))
	return hex.EncodeToString(sum[:8])
}
