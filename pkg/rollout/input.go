package rollout

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// Limits of a status, so that it stays within what is stored at once.
const (
	// MaxTargets is how many clusters a run has at most.
	MaxTargets = 10000
	// MaxHistory is how many moves of clusters a status remembers for rollback, all clusters together.
	MaxHistory = 3 * MaxTargets
	// MaxRecorded is how many transitions, revisions and requests a status remembers.
	MaxRecorded = 20
	// MaxLeftOut is how many of the clusters that were left out a status names.
	MaxLeftOut = 100
	// MaxGroups is how many groups of a user a transition names.
	MaxGroups = 20
)

// Automatic is the user of what the server does by itself.
const Automatic = "binnacle.dev/automatic"

// Target is a cluster that a rollout may be about: every ClusterProfile that the targets select now and, of the others, those that
// status.clusters names. A ClusterProfile that is not among them does not exist, and leaves the decision: whoever cannot tell all of them
// must not ask.
type Target struct {
	Name, Namespace string
	// Labels of the ClusterProfile.
	Labels labels.Set
	// Selected says whether the targets of the spec select it.
	Selected bool
	// Connected says whether the cluster reports, or never did.
	Connected bool
	// Reason says in one word why it does not.
	Reason string
	// Terminating says that the ClusterProfile is being deleted. Such a cluster is never let in; one that is through stays until it is gone.
	Terminating bool
}

// Input is all that a decision depends on.
type Input struct {
	// Rollout is the spec and the status so far. It is not changed.
	Rollout *binnacle.Rollout
	Targets []Target
	// MassSilence says that so many clusters went silent at once that the hub is suspect. Nobody is let in then.
	MassSilence bool
	// Blocked is why nothing can be done by itself, nil where nothing is in the way. Targets need not say who is selected then.
	Blocked *Blocked
	Now     time.Time
}

// Blocked is why a tick lets nobody in, and only deleted clusters go.
type Blocked struct {
	// Reason is one word for programs, and Message is for people: both of the condition Blocked.
	Reason, Message string
	// Quiet says that the condition stays as it is, since this may be over in a moment.
	Quiet bool
}

// Actor is who asks.
type Actor struct {
	User   string
	Groups []string
}

// Request is a verb with its body.
type Request struct {
	Verb  binnacle.RolloutVerb
	Actor Actor
	binnacle.RolloutActionSpec
}

// Result is a new status.
type Result struct {
	Status binnacle.RolloutStatus
	// Changed says whether it differs from the old one in more than what follows from the time.
	Changed bool
	// Repeated says that the request was known by its idempotency key, so that nothing was done.
	Repeated bool
	// Next is when to tick again though nothing else happens, nil for never.
	Next *metav1.Time
}

// Refusal is why a request is not followed.
type Refusal struct {
	// Field of the body that is wrong by itself, empty where the state of the rollout is in the way: 422 or 409.
	Field string
	// Reason is one word for programs.
	Reason string
	// Message is for people. It ends with where the rollout is.
	Message string
}

// Reasons of a refusal beside those of conditions.
const (
	ReasonPhase        = "Phase"        // The phase does not allow the verb.
	ReasonPrecondition = "Precondition" // observedStep or observedRevision does not hold.
	ReasonKeyReused    = "KeyReused"    // The idempotency key came with another request.
	ReasonGate         = "Gate"         // The gate is closed.
	ReasonNoStep       = "NoStep"       // The last step was taken.
	ReasonNoTargets    = "NoTargets"    // The targets are no cluster.
	ReasonTooMany      = "TooManyTargets"
	ReasonUnchanged    = "Unchanged"  // There is nothing to do.
	ReasonApprover     = "Approver"   // The user may not approve, or has.
	ReasonNoApproval   = "NoApproval" // No approval is asked for.
	ReasonNotIn        = "NotIn"      // The cluster is not through.
	ReasonRevision     = "Revision"   // The revision is not the current one, or not recorded.
	ReasonNotFailed    = "NotFailed"  // No such cluster failed.
	ReasonNoSuchStep   = "NoSuchStep" // The plan has no such step, or it was taken.
)

func (r *Refusal) Error() string { return r.Message }

// refuse says what is in the way, and where the rollout is, which a client needs for its next try.
func refuse(status *binnacle.RolloutStatus, reason, format string, args ...any) error {
	step := "no step"
	if status.Step != nil {
		step = fmt.Sprintf("step %q", status.Step.Name)
	}
	return &Refusal{Reason: reason, Message: fmt.Sprintf("%s (the rollout is %s in %s at revision %d)", fmt.Sprintf(format, args...), phaseOf(status), step, status.Revision)}
}

func (r *run) refuse(reason, format string, args ...any) error {
	return refuse(r.before, reason, format, args...)
}
