package kubectl

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// TestEffects says before abort and rollback who would come and go.
func TestEffects(t *testing.T) {
	third := newRollout(func(r *v1alpha1.Rollout) {
		// c0 went out with revision 3, which is current.
		r.Status.Revision, r.Status.BaseRevision = 3, 1
		r.Status.Clusters[0].History = []int64{1, 3}
	})
	tests := []struct {
		name    string
		effect  func(*v1alpha1.Rollout) ([]string, error)
		rollout *v1alpha1.Rollout
		want    string
	}{
		{"abort", abort, newRollout(), `
abort ends the run and returns to the clusters that it started from: 10 clusters out, 0 clusters in.
  out:     c0, c1, c2, c3, c4, c5, c6, c7, c8, c9`},
		{"abort before the start", abort, newRollout(notStarted), "\nabort ends the rollout before it began. No cluster is through."},
		{"abort of what is finished", abort, newRollout(ended(v1alpha1.RolloutCompleted)), "\n"},
		{"abort to a base", abort, third, `
abort ends the run and returns to the clusters that it started from: 6 clusters out, 1 cluster in.
  out:     c4, c5, c6, c7, c8, c9
  in:      c0`},
		{"rollback to what is not recorded", rollback(9), third, "\n"},
		{"promote of what is paused", promote, newRollout(paused), "\n"},
		{"promote of what is finished", promote, newRollout(ended(v1alpha1.RolloutAborted)), "\n"},
		{"rollback", rollback(2), third, `
rollback ends the run and returns to revision 2: 0 clusters out, 1 cluster in.
  in:      c0`},
	}
	for _, test := range tests {
		lines, err := test.effect(test.rollout)
		if diff := cmp.Diff(test.want, "\n"+strings.Join(lines, "\n")); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", test.name, err, diff)
		}
	}
}

func abort(r *v1alpha1.Rollout) ([]string, error) { return abortEffect(context.Background(), nil, r) }

func promote(r *v1alpha1.Rollout) ([]string, error) {
	return promoteEffect(context.Background(), nil, r)
}

func rollback(revision int64) func(*v1alpha1.Rollout) ([]string, error) {
	return func(r *v1alpha1.Rollout) ([]string, error) {
		return rollbackEffect(context.Background(), &actionOptions{toRevision: revision}, r)
	}
}

// TestObserve wants what was agreed to as precondition, unless flags said another.
func TestObserve(t *testing.T) {
	o := &actionOptions{}
	o.observe(newRollout())
	if diff := cmp.Diff(v1alpha1.RolloutActionSpec{ObservedStep: ptr.To("p25"), ObservedRevision: ptr.To[int64](2)}, o.body); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	o.observe(newRollout(notStarted))
	if *o.body.ObservedStep != "p25" {
		t.Errorf("observes %q", *o.body.ObservedStep)
	}
	o = &actionOptions{}
	o.observe(nil)
	if diff := cmp.Diff(v1alpha1.RolloutActionSpec{}, o.body); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFirstNames(t *testing.T) {
	refs := func(names ...string) (all []v1alpha1.ClusterReference) {
		for _, name := range names {
			all = append(all, v1alpha1.ClusterReference{Name: name})
		}
		return all
	}
	long := strings.Repeat("x", 30)
	for _, test := range []struct {
		clusters []v1alpha1.ClusterReference
		want     string
	}{
		{nil, ""},
		{refs("a"), "a"},
		{refs("a", "b", "c"), "a, b, c"},
		{refs("abcdefgh", "abcdefgh", "c", "d"), "abcdefgh and 3 more"},
		{refs(long, "b"), long + " and 1 more"},
		{[]v1alpha1.ClusterReference{{Namespace: "fleet", Name: "a"}, {Namespace: "edge", Name: "a"}}, "a, edge/a"},
	} {
		if got := firstNames("fleet", test.clusters, 20); got != test.want {
			t.Errorf("%v: %q, want %q", test.clusters, got, test.want)
		}
	}
}
