package rollout

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// stepPlan is what a step would do.
type stepPlan struct {
	index int
	// planned is how many targets are to be through.
	planned int
	// add and held are positions in status.Clusters: who comes in, and who is passed over.
	add, held []int
	// empty are the names of the steps before that add nobody.
	empty []string
}

// base is how many clusters percentages are of: the pinned targets. Those that were skipped since count, unless the run follows its targets.
func (r *run) base() int {
	n := 0
	for i := range r.status.Clusters {
		c := &r.status.Clusters[i]
		if isTarget(c, r.spec.Drift) && c.Reason != binnacle.ReasonJoined {
			n++
		}
	}
	return n
}

func isTarget(c *binnacle.RolloutCluster, drift binnacle.DriftPolicy) bool {
	switch c.State {
	case binnacle.ClusterLeaving:
		return false
	case binnacle.ClusterSkipped:
		return c.Reason == binnacle.ReasonGone && drift != binnacle.DriftFollow
	}
	return true
}

// through is how many targets are through.
func (r *run) through() int {
	n := 0
	for i := range r.status.Clusters {
		if c := &r.status.Clusters[i]; IsThrough(c) && c.State != binnacle.ClusterLeaving {
			n++
		}
	}
	return n
}

// sizeOf is how many clusters a step of percent or count is for. Percent rounds up.
func sizeOf(step *binnacle.RolloutStep, base int) int {
	switch {
	case base == 0:
		return 0
	case step.Percent != nil:
		return max(1, (int(*step.Percent)*base+99)/100)
	case step.Count != nil:
		return min(int(*step.Count), base)
	}
	return 0
}

func (r *run) last() int { return len(r.spec.Steps) - 1 }

// current is the index of the step that was taken last, -1 for none.
func (r *run) current() int {
	if r.status.Step == nil {
		return -1
	}
	return int(r.status.Step.Index)
}

// plan says what a step would do now.
func (r *run) plan(index int) stepPlan {
	p := stepPlan{index: index}
	through, last, ring := r.through(), index == r.last(), r.spec.Steps[index].ClusterSelector != nil
	rings := r.rings(index)
	p.planned = max(through, sizeOf(&r.spec.Steps[index], r.base()))
	for i := range r.status.Clusters {
		c := &r.status.Clusters[i]
		if !waits(c) || c.Reason == binnacle.ReasonJoined && !last {
			continue
		}
		target := r.targetOf(c)
		switch {
		case target == nil || target.Terminating && !last: // A step need not wait for who will never come.
			continue
		case last || ring && matchesAny(rings, target.Labels):
		case ring || through+len(p.add) >= p.planned:
			continue
		}
		if r.held(target) {
			p.held = append(p.held, i)
			if target.Terminating {
				through-- // It is not planned either.
			}
		} else {
			p.add = append(p.add, i)
		}
	}
	if last || ring {
		p.planned = through + len(p.add) + len(p.held)
	}
	return p
}

// rings are the selectors up to a step, so that who was held by an earlier ring comes in with a later one.
func (r *run) rings(index int) []labels.Selector {
	var rings []labels.Selector
	for _, step := range r.spec.Steps[:index+1] {
		if step.ClusterSelector == nil {
			continue
		}
		if selector, err := metav1.LabelSelectorAsSelector(step.ClusterSelector); err == nil {
			rings = append(rings, selector)
		}
	}
	return rings
}

func matchesAny(selectors []labels.Selector, set labels.Set) bool {
	for _, selector := range selectors {
		if selector.Matches(set) {
			return true
		}
	}
	return false
}

// next is the next step that does something, or the last. Steps that are empty are passed over, with their gates. A step all of whose
// clusters are held is returned as it is: isHeld tells.
func (r *run) next() stepPlan {
	var empty []string
	for index := r.current() + 1; ; index++ {
		p := r.plan(index)
		if index == r.last() || len(p.add)+len(p.held) > 0 {
			p.empty = empty
			return p
		}
		empty = append(empty, r.spec.Steps[index].Name)
	}
}

// isHeld says whether a step must wait since none of its clusters reports. The last need not: who is held comes in later by itself.
func (r *run) isHeld(p stepPlan) bool {
	return p.index != r.last() && len(p.add) == 0 && len(p.held) > 0
}

// hold marks who is passed over.
func (r *run) hold(p stepPlan) {
	for _, i := range p.held {
		c := &r.status.Clusters[i]
		hold(c, r.targetOf(c))
	}
}

// take does what a plan says.
func (r *run) take(p stepPlan) {
	r.hold(p)
	if p.index == r.last() {
		for i := range r.status.Clusters {
			if c := &r.status.Clusters[i]; c.State == binnacle.ClusterLeaving {
				r.takeOut(c)
				c.State, c.Reason = binnacle.ClusterSkipped, binnacle.ReasonNotTargeted
			}
		}
	}
	r.letIn(p.add)
	step := &r.spec.Steps[p.index]
	r.status.Step = &binnacle.RolloutStepStatus{Name: step.Name, Index: int32(p.index), Planned: int32(p.planned), StartTime: r.now}
	r.startTimers(step.Gate)
}
