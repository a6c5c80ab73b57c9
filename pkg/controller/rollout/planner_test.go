package rollout_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/controller/rollout"
	planner "github.com/binnacle-dev/binnacle/pkg/rollout"
)

// stored is one Rollout that is changed by compare-and-swap.
type stored struct {
	targets []planner.Target

	mu        sync.Mutex
	rollout   *binnacle.Rollout
	version   int
	conflicts int
	// taken are the steps that ticks took and stored.
	taken []string
}

func (s *stored) read() (*binnacle.Rollout, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rollout, s.version
}

var errConflict = errors.New("somebody else was faster")

// swap stores what was decided on before.
func (s *stored) swap(before *binnacle.Rollout, version int, status binnacle.RolloutStatus) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.version != version {
		s.conflicts++
		return errConflict
	}
	if status.Step.Name != before.Status.Step.Name {
		s.taken = append(s.taken, status.Step.Name)
	}
	s.rollout = s.rollout.DeepCopy()
	s.rollout.Status = status
	s.version++
	return nil
}

// List implements rollout.Rollouts.
func (s *stored) List(context.Context) ([]types.NamespacedName, error) {
	return []types.NamespacedName{{Namespace: "fleet", Name: "payments"}}, nil
}

// Tick implements rollout.Rollouts.
func (s *stored) Tick(context.Context, string, string) (time.Time, error) {
	object, version := s.read()
	result := planner.Tick(planner.Input{Rollout: object, Targets: s.targets, Now: time.Now()})
	time.Sleep(time.Millisecond) // so that the other one decides on the same
	if result.Changed {
		if err := s.swap(object, version, result.Status); err != nil {
			return time.Time{}, err
		}
	}
	if result.Next == nil {
		return time.Time{}, nil
	}
	return result.Next.Time, nil
}

// TestTwoHolders has two replicas believe that they hold the lease: each step is still taken once.
func TestTwoHolders(t *testing.T) {
	h := newHub(t)
	s := &stored{rollout: &binnacle.Rollout{
		ObjectMeta: metav1.ObjectMeta{Name: "payments", Namespace: "fleet", UID: "u", Generation: 1},
		Spec: binnacle.RolloutSpec{Output: binnacle.RolloutOutput{DecisionKey: "payments"}, Progression: binnacle.ProgressionAutomatic,
			Drift: binnacle.DriftFreeze, Disconnected: binnacle.DisconnectedHold},
		Status: planner.Initial(1),
	}}
	var want []string
	for i := range 8 {
		s.rollout.Spec.Steps = append(s.rollout.Spec.Steps, binnacle.RolloutStep{Name: fmt.Sprint(i), Percent: ptr.To(int32(i+1) * 100 / 8)})
		if i > 0 {
			want = append(want, fmt.Sprint(i))
		}
	}
	for i := range 40 {
		s.targets = append(s.targets, planner.Target{Name: fmt.Sprint("store-", i), Namespace: "fleet", Selected: true, Connected: true})
	}
	result, err := planner.Apply(planner.Input{Rollout: s.rollout, Targets: s.targets, Now: time.Now()},
		planner.Request{Verb: binnacle.VerbAdvance, Actor: planner.Actor{User: "ann"}})
	if err != nil {
		t.Fatal(err)
	}
	s.rollout.Status = result.Status
	var group sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for _, own := range []string{"/a/", "/b/"} {
		loop := rollout.New(rollout.Config{Client: h.connect(nil), Prefix: own, Identity: own, Rollouts: s, Workers: 2, Clock: clock.RealClock{}})
		group.Go(func() { loop.Run(ctx) })
	}
	h.eventually("the rollout to complete", func() bool { object, _ := s.read(); return object.Status.Phase == binnacle.RolloutCompleted })
	stop()
	group.Wait()
	if diff := cmp.Diff(want, s.taken); diff != "" {
		t.Error(diff)
	}
	t.Logf("%d conflicts", s.conflicts)
}
