package rollout_test

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/rollout"
)

// seeds gives a test so many random worlds, and says on failure which one it was.
func seeds(t *testing.T, n int, run func(t *testing.T, random *rand.Rand)) {
	t.Helper()
	first := rand.Int63()
	t.Logf("first seed %d", first)
	for i := range int64(n) {
		seed := first + i
		random := rand.New(rand.NewSource(seed))
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) { run(t, random) }) {
			return
		}
	}
}

// randomWorld is a random fleet with a random plan that validation accepts.
func randomWorld(t *testing.T, random *rand.Rand) *world {
	w := newWorld(t, 1+random.Intn(60), randomPlan(random)...)
	spec := &w.rollout.Spec
	spec.Drift = pick(random, binnacle.DriftFreeze, binnacle.DriftFollow, binnacle.DriftAppendToLast)
	spec.Disconnected = pick(random, binnacle.DisconnectedHold, binnacle.DisconnectedHold, binnacle.DisconnectedInclude)
	spec.Progression = pick(random, binnacle.ProgressionManual, binnacle.ProgressionAutomatic)
	spec.FailureBudget = &binnacle.RolloutBudget{Percent: ptr.To(int32(random.Intn(101)))}
	spec.ProgressDeadline = &metav1.Duration{Duration: time.Duration(1+random.Intn(100)) * time.Minute}
	if random.Intn(2) == 0 {
		spec.Order = &binnacle.RolloutOrder{Label: "tier", Canaries: []binnacle.ClusterReference{{Name: "store-05"}, {Name: "store-01"}}}
	}
	for i := range w.targets {
		w.shake(random, &w.targets[i])
	}
	return w
}

func (w *world) shake(random *rand.Rand, target *rollout.Target) {
	target.Connected = random.Intn(5) > 0
	target.Labels = labels.Set{"ring": pick(random, "dev", "eu", "us"), "tier": fmt.Sprint(random.Intn(4))}
}

func pick[T any](random *rand.Rand, values ...T) T { return values[random.Intn(len(values))] }

func randomPlan(random *rand.Rand) []binnacle.RolloutStep {
	var plan []binnacle.RolloutStep
	n, c := int32(0), int32(0)
	gate := func() binnacle.RolloutGate {
		g := binnacle.RolloutGate{Pause: random.Intn(4) == 0, Success: random.Intn(3) == 0}
		if random.Intn(3) == 0 {
			g.Soak = &metav1.Duration{Duration: time.Duration(1+random.Intn(60)) * time.Minute}
		}
		if random.Intn(4) == 0 {
			g.Approval = ptr.To(int32(1 + random.Intn(2)))
		}
		return g
	}
	for _, value := range []string{"dev", "eu", "us"}[:random.Intn(4)] {
		if random.Intn(2) == 0 {
			plan = append(plan, ring(value, gate()))
		}
		switch n, c = n+1+random.Int31n(30), c+1+random.Int31n(9); random.Intn(3) {
		case 0:
			plan = append(plan, percent(n, gate()))
		case 1:
			plan = append(plan, count(c, gate()))
		}
	}
	last := binnacle.RolloutGate{Success: random.Intn(2) == 0}
	return append(plan, percent(100, last))
}

// happen lets something happen to the world, and returns what.
func (w *world) happen(random *rand.Rand) string {
	switch random.Intn(13) {
	case 12:
		w.targets[random.Intn(len(w.targets))].Terminating = true
		return "terminate"
	case 0:
		name := fmt.Sprintf("join-%d", random.Intn(1000))
		if !slices.ContainsFunc(w.targets, func(t rollout.Target) bool { return t.Name == name }) {
			w.add(name)
			w.shake(random, &w.targets[len(w.targets)-1])
		}
		return "join"
	case 1:
		if len(w.targets) > 1 {
			w.remove(pick(random, w.targets...).Name)
		}
		return "delete"
	case 2:
		target := &w.targets[random.Intn(len(w.targets))]
		target.Selected = !target.Selected
		return "select"
	case 3:
		target := &w.targets[random.Intn(len(w.targets))]
		target.Connected = !target.Connected
		return "connect"
	case 4:
		w.after(time.Duration(random.Intn(7200)) * time.Second)
		return "time"
	case 5:
		w.silence = random.Intn(4) == 0
		return "silence"
	case 6, 7:
		if in := w.in(); len(in) > 0 {
			random.Shuffle(len(in), func(i, j int) { in[i], in[j] = in[j], in[i] })
			w.report(pick(random, binnacle.OutcomeSucceeded, binnacle.OutcomeSucceeded, binnacle.OutcomeFailed), in[:1+random.Intn(len(in))]...)
		}
		return "feedback"
	case 8:
		w.store(rollout.Tick(w.input()))
		return "tick"
	}
	verb := pick(random, binnacle.VerbAdvance, binnacle.VerbAdvance, binnacle.VerbAdvance, binnacle.VerbPause, binnacle.VerbResume, binnacle.VerbResume,
		binnacle.VerbApprove, binnacle.VerbApprove, binnacle.VerbPromote, binnacle.VerbAbort, binnacle.VerbRollback, binnacle.VerbRetry, binnacle.VerbRetry)
	req := rollout.Request{Actor: rollout.Actor{User: pick(random, "ann", "ben", "cem")}}
	if revisions := w.rollout.Status.Revisions; verb == binnacle.VerbRollback && len(revisions) > 0 {
		req.ToRevision = ptr.To(pick(random, revisions...).Revision)
	}
	if w.try(verb, req) != "" {
		return "refused " + string(verb)
	}
	return string(verb)
}

// TestRandomWorlds checks after everything that happens what must always hold.
func TestRandomWorlds(t *testing.T) {
	seeds(t, 300, func(t *testing.T, random *rand.Rand) {
		w := randomWorld(t, random)
		past := map[int64][]string{0: nil}
		for i := range 120 {
			before, targets := w.rollout, slices.Clone(w.targets)
			what := w.happen(random)
			w.holds(before, what)
			status := &w.rollout.Status
			now := slices.Sorted(slices.Values(w.in()))
			if was, known := past[status.Revision]; known && !slices.Equal(was, now) {
				t.Fatalf("%d, %s: revision %d was %v and is %v", i, what, status.Revision, was, now)
			}
			past[status.Revision] = now
			w.remembers(past)
			if t.Failed() {
				t.Fatalf("%d: %s, %d targets", i, what, len(targets))
			}
		}
	})
}

// holds checks the invariants of a change.
func (w *world) holds(before *binnacle.Rollout, what string) {
	w.t.Helper()
	old, status := &before.Status, &w.rollout.Status
	names := map[string]bool{}
	filled := map[int32]int{}
	for i := range status.Clusters {
		c := &status.Clusters[i]
		if names[c.Name] {
			w.t.Errorf("%s: %s is there twice", what, c.Name)
		}
		names[c.Name] = true
		through := rollout.IsThrough(c)
		member := c.State == binnacle.ClusterIn || c.State == binnacle.ClusterSucceeded || c.State == binnacle.ClusterFailed || c.State == binnacle.ClusterLeaving
		if through != member {
			w.t.Errorf("%s: %s is %s with the history %v", what, c.Name, c.State, c.History)
		}
		if len(c.History) > 2*rollout.MaxRecorded+3 {
			w.t.Errorf("%s: %s has a history of %d", what, c.Name, len(c.History))
		}
		if through {
			filled[c.Slice]++
		}
	}
	for slice, n := range filled {
		if n > 100 || slice >= status.Counts.Slices {
			w.t.Errorf("%s: %d in slice %d of %d", what, n, slice, status.Counts.Slices)
		}
	}
	if status.Revision < old.Revision || status.Revision > old.Revision+1 {
		w.t.Errorf("%s: revision %d after %d", what, status.Revision, old.Revision)
	}
	w.stays(old, what)
	if status.Phase == binnacle.RolloutCompleted && old.Phase == binnacle.RolloutProgressing {
		w.covers()
	}
}

// stays checks that who was through still is, in its slice, unless a verb or its own end took it out.
func (w *world) stays(old *binnacle.RolloutStatus, what string) {
	w.t.Helper()
	now := map[string]*binnacle.RolloutCluster{}
	for i := range w.rollout.Status.Clusters {
		now[w.rollout.Status.Clusters[i].Name] = &w.rollout.Status.Clusters[i]
	}
	targets := map[string]rollout.Target{}
	for _, target := range w.targets {
		targets[target.Name] = target
	}
	was := map[string]bool{}
	for i := range old.Clusters {
		was[old.Clusters[i].Name] = rollout.IsThrough(&old.Clusters[i])
	}
	for name, c := range now {
		if rollout.IsThrough(c) && !was[name] && targets[name].Terminating {
			w.t.Errorf("%s: %s came in and is being deleted", what, name)
		}
	}
	for i := range old.Clusters {
		c := &old.Clusters[i]
		if !rollout.IsThrough(c) {
			continue
		}
		is, known := now[c.Name]
		target, exists := targets[c.Name]
		back := what == string(binnacle.VerbAbort) || what == string(binnacle.VerbRollback)
		ended := exists && (c.State == binnacle.ClusterLeaving || !target.Selected)
		switch {
		case known && rollout.IsThrough(is):
			if is.Slice != c.Slice {
				w.t.Errorf("%s: %s moved from slice %d to %d", what, c.Name, c.Slice, is.Slice)
			}
		case exists && !back && !ended:
			w.t.Errorf("%s: %s is out, %s, and was in", what, c.Name, c.State)
		}
	}
}

// covers checks that a complete run has every target, once: in, held, or gone. Who joined since the last step comes in with the next tick.
func (w *world) covers() {
	w.t.Helper()
	input := w.input()
	input.MassSilence = false
	clusters := rollout.Tick(input).Status.Clusters
	for i := range clusters {
		c := &clusters[i]
		if c.State == binnacle.ClusterPending || c.State == binnacle.ClusterLeaving {
			w.t.Errorf("complete, and %s is %s", c.Name, c.State)
		}
	}
}

// remembers checks that the status knows who was through at each revision that rollback and abort may return to.
func (w *world) remembers(past map[int64][]string) {
	w.t.Helper()
	status := &w.rollout.Status
	for _, revision := range append(slices.Clone(status.Revisions), binnacle.RolloutRevision{Revision: status.BaseRevision}) {
		var names []string
		for i := range status.Clusters {
			if rollout.WasThrough(&status.Clusters[i], revision.Revision) {
				names = append(names, status.Clusters[i].Name)
			}
		}
		slices.Sort(names)
		if !slices.Equal(names, past[revision.Revision]) {
			w.t.Errorf("revision %d is remembered as %v and was %v", revision.Revision, names, past[revision.Revision])
		}
	}
}

// TestRandomPlansReachAll passes every gate of a plan, and finds every target in once, and no step that does nothing or too much.
func TestRandomPlansReachAll(t *testing.T) {
	seeds(t, 200, func(t *testing.T, random *rand.Rand) {
		w := randomWorld(t, random)
		for i := range w.targets {
			w.targets[i].Connected = true
		}
		w.rollout.Spec.Progression = binnacle.ProgressionManual
		entered := map[string]int{}
		for w.rollout.Status.Phase != binnacle.RolloutCompleted {
			before := w.in()
			w.do(binnacle.VerbAdvance)
			for _, name := range w.in() {
				if !slices.Contains(before, name) {
					entered[name]++
				}
			}
			if n := len(w.in()); n <= len(before) || n != int(w.rollout.Status.Step.Planned) {
				t.Fatalf("step %+v: %d in, before %d", w.rollout.Status.Step, n, len(before))
			}
			w.succeed(w.in()...)
			for _, user := range []string{"ben", "cem"} {
				w.try(binnacle.VerbApprove, rollout.Request{Actor: rollout.Actor{User: user}})
			}
			w.after(time.Hour)
			w.tick()
		}
		for _, target := range w.targets {
			if entered[target.Name] != 1 {
				t.Errorf("%s came in %d times", target.Name, entered[target.Name])
			}
		}
	})
}

// TestDeterminism wants the same of the same, whatever the order that targets come in, and nothing of a second tick.
func TestDeterminism(t *testing.T) {
	seeds(t, 100, func(t *testing.T, random *rand.Rand) {
		w := randomWorld(t, random)
		for range 60 {
			w.happen(random)
			shuffled := w.input()
			shuffled.Targets = slices.Clone(w.targets)
			random.Shuffle(len(shuffled.Targets), func(i, j int) {
				shuffled.Targets[i], shuffled.Targets[j] = shuffled.Targets[j], shuffled.Targets[i]
			})
			for _, verb := range []binnacle.RolloutVerb{binnacle.VerbAdvance, binnacle.VerbRetry, binnacle.VerbAbort} {
				a, errA := rollout.Apply(w.input(), rollout.Request{Verb: verb})
				b, errB := rollout.Apply(shuffled, rollout.Request{Verb: verb})
				if diff := cmp.Diff(a, b); diff != "" || (errA == nil) != (errB == nil) {
					t.Fatalf("%s: %v, %v (-one +other):\n%s", verb, errA, errB, diff)
				}
			}
			if diff := cmp.Diff(rollout.Tick(w.input()), rollout.Tick(shuffled)); diff != "" {
				t.Fatalf("tick (-one +other):\n%s", diff)
			}
			w.tick()
		}
	})
}

// TestInsertionIsStable wants who joins to change the order of nobody else.
func TestInsertionIsStable(t *testing.T) {
	seeds(t, 200, func(t *testing.T, random *rand.Rand) {
		w := randomWorld(t, random)
		w.rollout.Spec.Drift, w.silence = binnacle.DriftFollow, false
		if w.try(binnacle.VerbPromote, rollout.Request{}) != "" {
			t.Fatal("promote is refused")
		}
		base := newWorld(t, 0, w.rollout.Spec.Steps...)
		base.rollout.Spec = *w.rollout.Spec.DeepCopy()
		base.targets = slices.Clone(w.targets[:1+random.Intn(len(w.targets))])
		if base.try(binnacle.VerbPromote, rollout.Request{}) != "" {
			t.Fatal("promote is refused")
		}
		kept := map[string]bool{}
		for _, target := range base.targets {
			kept[target.Name] = true
		}
		var some, all []string
		for _, c := range base.rollout.Status.Clusters {
			some = append(some, c.Name)
		}
		for _, c := range w.rollout.Status.Clusters {
			if kept[c.Name] {
				all = append(all, c.Name)
			}
		}
		if diff := cmp.Diff(some, all); diff != "" {
			t.Errorf("of %d targets (-without +with the others):\n%s", len(w.targets), diff)
		}
	})
}
