package rollout_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/rollout"
)

func body(spec binnacle.RolloutActionSpec) rollout.Request {
	return rollout.Request{RolloutActionSpec: spec}
}

// TestPreconditions refuses what was meant for another step, and says which is the current one.
func TestPreconditions(t *testing.T) {
	w := newWorld(t, 10, percent(10), percent(50), percent(100))
	none := body(binnacle.RolloutActionSpec{ObservedStep: ptr.To(""), ObservedRevision: ptr.To[int64](0)})
	if reason := w.try(binnacle.VerbAdvance, none); reason != "" {
		t.Fatal(reason)
	}
	for name, spec := range map[string]binnacle.RolloutActionSpec{
		"no step": {ObservedStep: ptr.To("")}, "another step": {ObservedStep: ptr.To("p50")},
		"an older revision": {ObservedRevision: ptr.To[int64](0)}, "a later revision": {ObservedStep: ptr.To("p10"), ObservedRevision: ptr.To[int64](2)},
	} {
		for _, verb := range []binnacle.RolloutVerb{binnacle.VerbAdvance, binnacle.VerbPause, binnacle.VerbAbort} {
			req := body(spec)
			req.Verb = verb
			_, err := rollout.Apply(w.input(), req)
			var refusal *rollout.Refusal
			if !errors.As(err, &refusal) || refusal.Reason != rollout.ReasonPrecondition || !strings.Contains(err.Error(), `Progressing in step "p10" at revision 1`) {
				t.Errorf("%s, %s: %v", name, verb, err)
			}
		}
	}
	// Of twenty calls for one step one takes it.
	taken := 0
	for range 20 {
		if w.try(binnacle.VerbAdvance, body(binnacle.RolloutActionSpec{ObservedStep: ptr.To("p10")})) == "" {
			taken++
		}
	}
	if taken != 1 || len(w.in()) != 5 {
		t.Errorf("%d calls took a step, and %d are in", taken, len(w.in()))
	}
}

// TestIdempotencyKeys repeats a request without another effect, whatever happened since.
func TestIdempotencyKeys(t *testing.T) {
	w := newWorld(t, 60)
	for i := range int32(30) {
		w.rollout.Spec.Steps = append(w.rollout.Spec.Steps, count(i+1))
	}
	w.rollout.Spec.Steps = append(w.rollout.Spec.Steps, percent(100))
	keyed := func(key, user, reason string) rollout.Request {
		req := body(binnacle.RolloutActionSpec{IdempotencyKey: key, Reason: reason, ObservedStep: nil})
		req.Actor.User = user
		return req
	}
	if reason := w.try(binnacle.VerbAdvance, keyed("k", "ann", "")); reason != "" {
		t.Fatal(reason)
	}
	before := w.rollout.DeepCopy()
	req := keyed("k", "ann", "")
	req.Verb = binnacle.VerbAdvance
	result, err := rollout.Apply(w.input(), req)
	if err != nil || !result.Repeated || result.Changed {
		t.Errorf("repeated: %v, %+v", err, result.Repeated)
	}
	if diff := cmp.Diff(before.Status, result.Status); diff != "" {
		t.Errorf("a repetition changed (-before +after):\n%s", diff)
	}
	for name, other := range map[string]struct {
		verb binnacle.RolloutVerb
		req  rollout.Request
	}{
		"other verb":   {binnacle.VerbPause, keyed("k", "ann", "")},
		"other user":   {binnacle.VerbAdvance, keyed("k", "ben", "")},
		"other reason": {binnacle.VerbAdvance, keyed("k", "ann", "why")},
	} {
		if reason := w.try(other.verb, other.req); reason != rollout.ReasonKeyReused {
			t.Errorf("%s: %q", name, reason)
		}
	}
	for i := range 20 {
		if reason := w.try(binnacle.VerbAdvance, keyed(fmt.Sprint(i), "ann", "")); reason != "" {
			t.Fatal(reason)
		}
	}
	if n := len(w.rollout.Status.Requests); n != 20 || len(w.in()) != 21 {
		t.Errorf("%d requests are remembered, and %d clusters are in", n, len(w.in()))
	}
	// A refused request is not remembered, so that it may be tried again.
	if reason := w.try(binnacle.VerbResume, keyed("r", "ann", "")); reason != rollout.ReasonPhase {
		t.Errorf("resume: %q", reason)
	}
	w.do(binnacle.VerbPause)
	if reason := w.try(binnacle.VerbResume, keyed("r", "ann", "")); reason != "" {
		t.Errorf("resume again: %q", reason)
	}
}

// TestFeedbackCounts only for the current revision and for who is through.
func TestFeedbackCounts(t *testing.T) {
	w := newWorld(t, 10, percent(10, success), percent(50, success), percent(100))
	if errs := w.report(binnacle.OutcomeSucceeded, "store-00"); w.reason(errs[0]) != rollout.ReasonPhase {
		t.Errorf("before the start: %v", errs)
	}
	w.do(binnacle.VerbAdvance)
	canary := w.in()[0]
	other := "store-00"
	if canary == other {
		other = "store-01"
	}
	errs := w.report(binnacle.OutcomeSucceeded, canary, other, "nobody")
	if errs[0] != nil || w.reason(errs[1]) != rollout.ReasonNotIn || w.reason(errs[2]) != rollout.ReasonNotIn {
		t.Errorf("outcomes of three: %v", errs)
	}
	w.do(binnacle.VerbAdvance)
	if w.cluster(canary).State != binnacle.ClusterSucceeded {
		t.Error("a step forgot the outcome of the one before")
	}
	for revision, want := range map[int64]string{1: rollout.ReasonRevision, 3: rollout.ReasonRevision, 2: ""} {
		_, errs := rollout.Feedback(w.input(), []binnacle.RolloutFeedbackSpec{{Cluster: binnacle.ClusterReference{Name: canary, Namespace: "fleet"},
			Revision: revision, Outcome: binnacle.OutcomeFailed, Reason: "CrashLoop"}})
		if want == "" && errs[0] != nil || want != "" && w.reason(errs[0]) != want {
			t.Errorf("revision %d: %v", revision, errs[0])
		}
	}
}

// TestAbortAndRollback go back to who was through then, and who is gone stays gone.
func TestAbortAndRollback(t *testing.T) {
	to := func(revision int64) rollout.Request {
		return body(binnacle.RolloutActionSpec{ToRevision: &revision})
	}
	w := newWorld(t, 10, percent(20), percent(50), percent(100))
	w.do(binnacle.VerbAdvance)
	two := w.in()
	w.do(binnacle.VerbAdvance)
	w.remove(two[0])
	for _, revision := range []int64{0, 3, -1} {
		req := to(revision)
		req.Verb = binnacle.VerbRollback
		_, err := rollout.Apply(w.input(), req)
		var refusal *rollout.Refusal
		if !errors.As(err, &refusal) || refusal.Field != "spec.toRevision" {
			t.Errorf("rollback to %d: %v", revision, err)
		}
	}
	if reason := w.try(binnacle.VerbRollback, to(1)); reason != "" {
		t.Fatal(reason)
	}
	w.is(binnacle.RolloutRolledBack, "p50", 1, "")
	if w.in()[0] != two[1] || w.rollout.Status.Revision != 3 {
		t.Errorf("after rollback: %v at revision %d", w.in(), w.rollout.Status.Revision)
	}
	if reason := w.try(binnacle.VerbRollback, to(2)); reason != "" {
		t.Fatal(reason)
	}
	w.is(binnacle.RolloutRolledBack, "p50", 4, "")

	// A run that begins with four goes back to four.
	four := strings.Join(w.in(), " ")
	w.after(time.Hour)
	w.do(binnacle.VerbRetry)
	w.is(binnacle.RolloutProgressing, "p50", 5, binnacle.WaitAdvance)
	w.do(binnacle.VerbAbort)
	if got := strings.Join(w.in(), " "); got != four {
		t.Errorf("after the abort of a second run: %s, want %s", got, four)
	}
}
