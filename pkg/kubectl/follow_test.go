package kubectl

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	k8stesting "k8s.io/client-go/testing"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned/fake"
)

// at is the rollout with a resourceVersion.
func at(version string, change ...func(*v1alpha1.Rollout)) *v1alpha1.Rollout {
	r := newRollout(change...)
	r.ResourceVersion = version
	return r
}

// follow follows a rollout that a get shows at version 7, a list as listed, and then events show.
func follow(t *testing.T, listed []*v1alpha1.Rollout, failing error, events ...watch.Event) (seen []string, err error) {
	t.Helper()
	client := fake.NewSimpleClientset()
	client.PrependReactor("get", "rollouts", func(k8stesting.Action) (bool, runtime.Object, error) { return true, at("7"), nil })
	client.PrependReactor("list", "rollouts", func(k8stesting.Action) (bool, runtime.Object, error) {
		list := &v1alpha1.RolloutList{}
		list.ResourceVersion = "7"
		for _, r := range listed {
			list.Items = append(list.Items, *r)
		}
		return true, list, failing
	})
	client.PrependWatchReactor("rollouts", func(k8stesting.Action) (bool, watch.Interface, error) {
		w := watch.NewFakeWithChanSize(len(events), false)
		for _, e := range events {
			w.Action(e.Type, e.Object)
		}
		return true, w, nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	f := follower{client: client, namespace: "fleet", name: "web", lost: func(error) {},
		see: func(r *v1alpha1.Rollout) (bool, error) {
			if len(seen) == 0 || seen[len(seen)-1] != r.ResourceVersion {
				seen = append(seen, r.ResourceVersion)
			}
			return phaseOf(r) == v1alpha1.RolloutCompleted, nil
		}}
	err = f.run(ctx)
	return seen, err
}

func TestFollow(t *testing.T) {
	complete := ended(v1alpha1.RolloutCompleted)
	another := at("9")
	another.UID = "another"
	done := watch.Event{Type: watch.Modified, Object: at("9", complete)}
	tests := []struct {
		name    string
		listed  []*v1alpha1.Rollout
		failing error
		events  []watch.Event
		seen    string
		err     string
	}{
		{name: "to the end", listed: []*v1alpha1.Rollout{at("7")}, events: []watch.Event{{Type: watch.Modified, Object: at("8")}, done}, seen: "7 8 9"},
		{name: "a list that lags behind", listed: []*v1alpha1.Rollout{at("5", complete)}, events: []watch.Event{done}, seen: "7 9"},
		{name: "deleted", listed: []*v1alpha1.Rollout{at("7")}, events: []watch.Event{{Type: watch.Deleted, Object: at("8")}}, seen: "7", err: "not found"},
		{name: "deleted before the list", seen: "7", err: "not found"},
		{name: "made anew", listed: []*v1alpha1.Rollout{another}, seen: "7", err: "deleted and made anew"},
		{name: "forbidden", failing: apierrors.NewForbidden(schema.GroupResource{Resource: "rollouts"}, "", errors.New("no")), seen: "7", err: "forbidden"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			seen, err := follow(t, test.listed, test.failing, test.events...)
			// What is seen before an end is a matter of luck where both come at once.
			if got := strings.Join(seen, " "); !strings.HasPrefix(got, test.seen) || test.err == "" && got != test.seen {
				t.Errorf("saw %s, want %s", got, test.seen)
			}
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("%v, want %q", err, test.err)
			}
		})
	}
}
