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
		if n := size(t, w.rollout); n > limit {
			t.Fatalf("step %d: %d bytes", i, n)
		}
	}
	w.is(binnacle.RolloutCompleted, "p100", rollout.MaxTargets, "")
	if n := w.rollout.Status.Counts.Slices; n != 100 {
		t.Errorf("%d slices", n)
	}
	w.try(binnacle.VerbRollback, rollout.Request{Actor: actor, RolloutActionSpec: binnacle.RolloutActionSpec{ToRevision: ptr.To[int64](20)}})
	w.try(binnacle.VerbRetry, rollout.Request{Actor: actor})
	w.do(binnacle.VerbAdvance)
	n := size(t, w.rollout)
	t.Logf("%d bytes at %s", n, w.rollout.Status.Phase)
	if n > limit {
		t.Errorf("%d bytes", n)
	}
}
