package rollout_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/install"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/rollout"
)

// size is how many bytes a Rollout takes in etcd.
func size(t *testing.T, obj *binnacle.Rollout) int {
	t.Helper()
	scheme := runtime.NewScheme()
	install.Install(scheme)
	codec := serializer.NewCodecFactory(scheme).CodecForVersions(protobuf.NewSerializer(scheme, scheme), nil, v1alpha1.SchemeGroupVersion, nil)
	data, err := runtime.Encode(codec, obj)
	if err != nil {
		t.Fatal(err)
	}
	return len(data)
}

// TestSizeOfTenThousand keeps a Rollout of 10,000 clusters under 700 KB at each step, with names of 32 characters, all outcomes in, every
// hundredth failed, long reasons and a full history.
func TestSizeOfTenThousand(t *testing.T) {
	const limit = 700 * 1000
	w := newWorld(t, 0)
	for i := range int32(30) {
		w.rollout.Spec.Steps = append(w.rollout.Spec.Steps, percent(3*(i+1)))
	}
	w.rollout.Spec.Steps = append(w.rollout.Spec.Steps, percent(100, success))
	w.rollout.Spec.FailureBudget = &binnacle.RolloutBudget{Percent: ptr.To[int32](100)}
	for i := range rollout.MaxTargets {
		w.add(fmt.Sprintf("store-europe-west-zone-3-c-%05d", i))
	}
	groups := make([]string, 30)
	for i := range groups {
		groups[i] = fmt.Sprint("platform-engineering-group-", i)
	}
	actor := rollout.Actor{User: "ann", Groups: groups}
	most := 0
	small := func(when string) {
		n := size(t, w.rollout)
		if most = max(most, n); n > limit {
			t.Fatalf("%s: %d bytes", when, n)
		}
	}
	for i := range w.rollout.Spec.Steps {
		began := time.Now()
		reason := w.try(binnacle.VerbAdvance, rollout.Request{Actor: actor, RolloutActionSpec: binnacle.RolloutActionSpec{
			IdempotencyKey: fmt.Sprintf("0f0e7c7a-5b1b-4d6e-9a53-3d0c4f0e%04d", i), Reason: strings.Repeat("because ", 20)}})
		if reason != "" {
			t.Fatal(reason)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("an advance took %v", took)
		}
		in := w.in()
		w.succeed(in...)
		w.report(binnacle.OutcomeFailed, in[:len(in)/100]...)
		small(fmt.Sprint("step ", i))
	}
	w.is(binnacle.RolloutCompleted, "p100", rollout.MaxTargets, "")
	if n := w.rollout.Status.Counts.Slices; n != 100 {
		t.Errorf("%d slices", n)
	}
	// The whole fleet out and in again, more often than revisions are recorded.
	for range rollout.MaxRecorded {
		if reason := w.try(binnacle.VerbRollback, rollout.Request{Actor: actor, RolloutActionSpec: binnacle.RolloutActionSpec{
			ToRevision: &w.rollout.Status.Revisions[0].Revision}}); reason != "" {
			t.Fatal(reason)
		}
		w.do(binnacle.VerbRetry)
		w.do(binnacle.VerbPromote)
		small("in and out")
	}
	t.Logf("at most %d bytes", most)
}

// TestTenThousandLongNames refuses what would not be stored, with the number and the limit, and lets nobody join beyond it.
func TestTenThousandLongNames(t *testing.T) {
	w := newWorld(t, 0, percent(100))
	long := strings.Repeat("n", 248)
	for i := range rollout.MaxTargets {
		w.targets = append(w.targets, rollout.Target{Name: fmt.Sprintf("%s%05d", long, i), Namespace: strings.Repeat("f", 63), Selected: true, Connected: true})
	}
	_, err := rollout.Apply(w.input(), rollout.Request{Verb: binnacle.VerbAdvance})
	if err == nil || w.reason(err) != rollout.ReasonTooMany || !strings.Contains(err.Error(), "select 10000 clusters") || !strings.Contains(err.Error(), "in 900000 bytes") {
		t.Errorf("it is answered with %v", err)
	}
	all := w.targets
	n := 0
	for ; n < len(all); n += 10 {
		w.targets = all[:n+10]
		if reason := w.try(binnacle.VerbAdvance, rollout.Request{}); reason == rollout.ReasonTooMany {
			break
		}
		w.rollout.Status = rollout.Initial(1)
	}
	w.targets = all[:n]
	w.rollout.Spec.Drift = binnacle.DriftFollow
	w.do(binnacle.VerbAdvance)
	if got := size(t, w.rollout); n < 2000 || got > rollout.MaxClusterBytes {
		t.Errorf("%d clusters take %d bytes", n, got)
	}
	w.targets = all[:n+10]
	w.tick()
	if got := w.rollout.Status.Counts; got.LeftOut != 10 || int(got.In) != n {
		t.Errorf("%d beside %d: %+v", 10, n, got)
	}
}

// TestTenThousandFailures stores 10,000 failures of clusters with names of 40 characters and reasons of 64: none is refused for its size, and the
// reasons that do not fit are dropped, the same whatever came first.
func TestTenThousandFailures(t *testing.T) {
	w := newWorld(t, 0, percent(100, success))
	w.rollout.Spec.FailureBudget = &binnacle.RolloutBudget{Percent: ptr.To[int32](100)}
	for i := range rollout.MaxTargets {
		w.add(fmt.Sprintf("%s%05d", strings.Repeat("n", 35), i))
	}
	w.do(binnacle.VerbAdvance)
	in := w.in()
	fail := func(names []string) {
		var outcomes []binnacle.RolloutFeedbackSpec
		for _, name := range names {
			outcomes = append(outcomes, binnacle.RolloutFeedbackSpec{Cluster: binnacle.ClusterReference{Name: name}, Revision: 1,
				Outcome: binnacle.OutcomeFailed, Reason: strings.Repeat("R", 64)})
		}
		result, errs := rollout.Feedback(rollout.Input{Rollout: w.rollout, Now: w.now}, outcomes)
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
		w.store(result)
	}
	fail(in[5000:])
	fail(in[:5000])
	kept := 0
	for i, c := range w.rollout.Status.Clusters {
		if c.State != binnacle.ClusterFailed || c.Reason != "" && i != kept {
			t.Fatalf("the cluster %d is %s, %q", i, c.State, c.Reason)
		}
		if c.Reason != "" {
			kept++
		}
	}
	if got := size(t, w.rollout); kept < 1000 || kept == len(in) || got > rollout.MaxClusterBytes {
		t.Errorf("%d bytes, with %d reasons", got, kept)
	} else {
		t.Logf("%d bytes, with %d reasons", got, kept)
	}
	fail(in[:1]) // Once more, and nothing changes.
	if c := w.rollout.Status.Clusters[0]; c.Reason == "" {
		t.Error("a reason is lost the second time")
	}
}

// TestAnotherFleet replaces the targets of a Rollout: more than can be kept at once are refused, and old revisions give way.
func TestAnotherFleet(t *testing.T) {
	const n = rollout.MaxTargets * 4 / 5
	fleet := func(w *world, name string) {
		for i := range w.targets {
			w.targets[i].Selected = false
		}
		for i := range n {
			w.add(fmt.Sprint(name, i))
		}
	}
	w := newWorld(t, 0, percent(50), percent(100))
	fleet(w, "a-")
	w.do(binnacle.VerbPromote)
	fleet(w, "b-")
	if reason := w.try(binnacle.VerbAdvance, rollout.Request{}); reason != rollout.ReasonTooMany {
		t.Errorf("two fleets of %d at once: %q", n, reason)
	}

	w = newWorld(t, 0, percent(50), percent(100))
	fleet(w, "a-")
	w.do(binnacle.VerbAdvance)
	w.do(binnacle.VerbAbort)
	fleet(w, "b-")
	w.do(binnacle.VerbRetry)
	w.is(binnacle.RolloutProgressing, "p50", n/2, binnacle.WaitAdvance)
	if status := w.rollout.Status; len(status.Clusters) != n || len(status.Revisions) != 1 {
		t.Errorf("%d clusters, %d revisions", len(status.Clusters), len(status.Revisions))
	}
}
