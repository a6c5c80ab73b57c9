package rollout

import (
	"context"
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/tools/record"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/registry/multicluster/placementdecision"
	"github.com/binnacle-dev/binnacle/pkg/registry/store"
	planner "github.com/binnacle-dev/binnacle/pkg/rollout"
	"github.com/binnacle-dev/binnacle/pkg/rollout/expression"
	"github.com/binnacle-dev/binnacle/pkg/rollout/slices"
)

// projectPatience is how long a verb waits for its slices. They follow in any case.
const projectPatience = 20 * time.Second

// Mover moves Rollouts: by a verb, by feedback, or since it is time. It swaps the status, and then writes the slices.
type Mover struct {
	rollouts    *store.Store
	decisions   *store.Store
	view        View
	expressions *expression.Compiler
	locks       locks
	events      record.EventRecorder
	collects    bool
	feedbacks   *feedbacks
	halves      halves
	// moved is told of each Rollout that was written here, since something may be due for it.
	moved func(namespace, name string)
}

// OnWrite says whom to tell of each Rollout that is written here. It is called before the server runs.
func (m *Mover) OnWrite(tell func(namespace, name string)) { m.moved = tell }

func (m *Mover) notify(object runtime.Object) {
	if rollout, ok := object.(*binnacle.Rollout); ok && m.moved != nil {
		m.moved(rollout.Namespace, rollout.Name)
	}
}

// pinned are the verbs that take one step of what the caller saw. Where the caller does not say what that was, it is what the request
// found first, so that of requests at once one takes the step. Who stops a rollout means it whatever it did meanwhile.
var pinned = map[binnacle.RolloutVerb]bool{
	binnacle.VerbAdvance: true, binnacle.VerbPromote: true, binnacle.VerbRollback: true, binnacle.VerbRetry: true, binnacle.VerbApprove: true,
}

// backwards are the verbs that need to know of the clusters only which there are: they work though nobody can say who is selected.
var backwards = map[binnacle.RolloutVerb]bool{binnacle.VerbAbort: true, binnacle.VerbRollback: true}

// blind are the verbs that are the same whatever the clusters are.
var blind = map[binnacle.RolloutVerb]bool{binnacle.VerbPause: true, binnacle.VerbResume: true, binnacle.VerbApprove: true}

// get reads a Rollout from etcd.
func (m *Mover) get(ctx context.Context, name string) (*binnacle.Rollout, error) {
	object, err := m.rollouts.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return object.(*binnacle.Rollout), nil
}

// act is one request to move a Rollout.
type act struct {
	*Mover
	request planner.Request
	dryRun  bool
	// uid and version are what the Rollout must have, empty for any.
	uid     types.UID
	version string
	// admit asks the hub's policies about the request, given what it would move.
	admit func(*binnacle.Rollout) error

	// first is what the request found first.
	first *binnacle.Rollout
	// claimed says that the output decision key was found free for it, and lock is what keeps it so, nil for a dry run.
	claimed bool
	lock    *lock
	// foreign are PlacementDecisions of others in the namespace, by name, and what to do about each.
	foreign map[string]string
	// keyed is one of them that carries the output decision key.
	keyed string
	// seen is up to which revision of etcd the view was when it was asked last.
	seen int64
	// admitted is the resourceVersion that admit was asked about last.
	admitted string
	// before and result are of the last try, which is the one that counts.
	before *binnacle.RolloutStatus
	result planner.Result
}

// do moves a Rollout and returns it as it is then. Its errors are answers.
func (a *act) do(ctx context.Context, name string) (*binnacle.Rollout, error) {
	var err error
	if a.first, err = a.get(ctx, name); err != nil {
		return nil, err
	}
	if err := isAbout(a.first, a.uid); err != nil {
		return nil, err
	}
	if err := a.prepare(ctx); err != nil {
		return nil, err
	}
	if err := a.claimKey(ctx, name); err != nil {
		return nil, err
	}
	if a.lock != nil {
		defer a.lock.unlock()
	}
	changed, err := a.rollouts.Change(ctx, name, a.dryRun, func(existing runtime.Object) (runtime.Object, error) { return a.try(ctx, existing) })
	if err != nil {
		return nil, answer(name, err)
	}
	after := changed.(*binnacle.Rollout)
	recordAudit(ctx, a.before, &after.Status)
	if !a.dryRun && !a.result.Repeated {
		a.announce(a.before, after)
		a.notify(after)
	}
	return after, nil
}

// prepare brings the view up to date, and finds what names of slices are taken.
func (a *act) prepare(ctx context.Context) error {
	if blind[a.request.Verb] {
		return nil
	}
	var err error
	if a.seen, err = a.view.Barrier(ctx); err != nil {
		return err
	}
	a.foreign, a.keyed, err = a.foreignNames(ctx, a.first)
	return err
}

// foreignNames are the names of PlacementDecisions in the namespace that are not the Rollout's, and what to do about each. keyed is one of
// them that carries its output decision key, empty for none.
func (m *Mover) foreignNames(ctx context.Context, rollout *binnacle.Rollout) (names map[string]string, keyed string, err error) {
	_, foreign, err := m.slicesOf(ofDecisions(ctx, rollout.Namespace), rollout.UID)
	names = map[string]string{}
	for _, decision := range foreign {
		if decision.Labels[multicluster.DecisionKeyLabel] == rollout.Spec.Output.DecisionKey {
			keyed = decision.Name
		}
		switch owner := placementdecision.OwnerOf(decision); {
		case owner == nil:
			names[decision.Name] = "is not this Rollout's: delete it, or create another Rollout with another spec.output.name"
		case owner.Name == rollout.Name:
			names[decision.Name] = "is of a Rollout of this name that was deleted, and goes with it in a moment: try again"
		default:
			names[decision.Name] = fmt.Sprintf("is of the Rollout %s: give one of the two another spec.output.name, or delete that one", owner.Name)
		}
	}
	return names, keyed, err
}

// refuseKeyed is 409 where a PlacementDecision of somebody else carries the output decision key: readers would take both for one decision.
func (a *act) refuseKeyed(rollout *binnacle.Rollout) error {
	if a.keyed == "" {
		return nil
	}
	return conflict(rollout.Name, "KeyTaken", fmt.Sprintf("the output decision key %q is that of the PlacementDecision %s, which %s",
		rollout.Spec.Output.DecisionKey, a.keyed, a.foreign[a.keyed]))
}

// refuseForeign is a refusal where a slice that a status needs has the name of somebody else's PlacementDecision.
func refuseForeign(rollout *binnacle.Rollout, foreign map[string]string) error {
	for i := range int(rollout.Status.Counts.Slices) {
		slice := slices.Name(rollout, i)
		if about, taken := foreign[slice]; taken {
			return &planner.Refusal{Reason: binnacle.ReasonNameTaken, Message: fmt.Sprintf("the PlacementDecision %s %s", slice, about)}
		}
	}
	return nil
}

// catchUp brings the view to what a Rollout that was written meanwhile may have been decided on: clusters that the view does not know of
// would be taken for deleted. It returns up to where the view is.
func (m *Mover) catchUp(ctx context.Context, rollout *binnacle.Rollout, seen int64) (int64, error) {
	if written, err := strconv.ParseInt(rollout.ResourceVersion, 10, 64); err == nil && written <= seen {
		return seen, nil
	}
	return m.view.Barrier(ctx)
}

// claimKey makes sure that the output decision key is the Rollout's, where the request may publish under it again. A repetition does nothing.
func (a *act) claimKey(ctx context.Context, name string) error {
	if !a.mayPublish() {
		return nil
	}
	if repeated, err := planner.Repeated(a.first, a.request); repeated || err != nil {
		return answer(name, err)
	}
	var err error
	if key := a.first.Spec.Output.DecisionKey; a.dryRun {
		err = a.refuseTaken(ctx, name, key, true)
	} else {
		a.lock, err = a.claim(ctx, a.first.Namespace, name, key, true)
	}
	a.claimed = err == nil
	return err
}

// mayPublish says whether the request may begin a run, or publish under a key that others may have had meanwhile. A Rollout that is neither
// finished nor to be started has its key; it can go back though another publishes under it from earlier times.
func (a *act) mayPublish() bool {
	switch a.request.Verb {
	case binnacle.VerbAdvance, binnacle.VerbPromote, binnacle.VerbRetry, binnacle.VerbRollback:
		return isIdle(&a.first.Status) && len(planner.Table[a.first.Status.Phase][a.request.Verb].To) > 0
	}
	return false
}

func isIdle(status *binnacle.RolloutStatus) bool {
	return status.Phase == binnacle.RolloutPending || status.Phase.Finished()
}

// publishes says whether the result is to publish what an idle Rollout did not.
func (a *act) publishes(existing *binnacle.Rollout) bool {
	after := &a.result.Status
	return isIdle(&existing.Status) && (!isIdle(after) || after.Revision != existing.Status.Revision)
}

// try makes of a stored Rollout what the request says.
func (a *act) try(ctx context.Context, object runtime.Object) (runtime.Object, error) {
	existing := object.(*binnacle.Rollout)
	if existing.UID != a.first.UID {
		return nil, moved(existing)
	}
	if existing.DeletionTimestamp != nil {
		return nil, going(existing)
	}
	if err := a.isVersion(existing); err != nil {
		return nil, err
	}
	if a.admitted != existing.ResourceVersion {
		a.admitted = existing.ResourceVersion
		if err := a.admit(existing); err != nil {
			return nil, err
		}
	}
	if repeated, err := planner.Repeated(existing, a.request); repeated || err != nil { // Whatever is in the way of another.
		a.before, a.result = existing.Status.DeepCopy(), planner.Result{Status: existing.Status, Repeated: repeated}
		return existing, err
	}
	in := planner.Input{Rollout: existing, Now: time.Now()}
	if !blind[a.request.Verb] {
		var err error
		if a.seen, err = a.catchUp(ctx, existing, a.seen); err != nil {
			return nil, err
		}
		if in, err = a.input(ctx, existing, !backwards[a.request.Verb]); err != nil {
			return nil, err
		}
	}
	result, err := planner.Apply(in, a.request)
	if err != nil {
		return nil, err
	}
	a.before, a.result = existing.Status.DeepCopy(), result
	updated := *existing
	if a.isMoved(existing) || a.publishes(existing) && !a.hasKeyOf(existing) {
		return nil, moved(existing)
	}
	if a.publishes(existing) {
		if err := a.refuseKeyed(existing); err != nil {
			return nil, err
		}
	}
	if a.lock != nil {
		if err := a.lock.confirm(ctx); err != nil {
			return nil, err
		}
	}
	updated.Status = result.Status
	if err := refuseForeign(&updated, a.foreign); err != nil {
		return nil, err
	}
	return &updated, nil
}

// isVersion is 409 where the Rollout is not of the version that the request is about, unless the request itself made it so.
func (a *act) isVersion(existing *binnacle.Rollout) error {
	if a.version == "" || a.version == existing.ResourceVersion {
		return nil
	}
	if repeated, err := planner.Repeated(existing, a.request); repeated || err != nil {
		return err
	}
	return conflict(existing.Name, planner.ReasonPrecondition,
		fmt.Sprintf("the precondition failed: its resourceVersion is %s, and the request is about %s", existing.ResourceVersion, a.version))
}

// hasKeyOf says whether the key that was claimed is that of the Rollout still: one that was not started may get another.
func (a *act) hasKeyOf(existing *binnacle.Rollout) bool {
	return a.claimed && existing.Spec.Output.DecisionKey == a.first.Spec.Output.DecisionKey
}

// isMoved says whether another request took a step since this one began.
func (a *act) isMoved(existing *binnacle.Rollout) bool {
	return pinned[a.request.Verb] && (stepOf(&existing.Status) != stepOf(&a.first.Status) || existing.Status.Revision != a.first.Status.Revision)
}

// actor is who asks.
func actor(ctx context.Context) planner.Actor {
	user, ok := request.UserFrom(ctx)
	if !ok {
		return planner.Actor{}
	}
	return planner.Actor{User: user.GetName(), Groups: user.GetGroups()}
}
