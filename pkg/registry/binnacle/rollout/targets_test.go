package rollout

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
)

// TestTargetOf reads off a cluster what the planner needs to know.
func TestTargetOf(t *testing.T) {
	view := &fakeView{phases: map[string]binnacle.ClusterPhase{}}
	for _, test := range []struct {
		phase                  binnacle.ClusterPhase
		deleted                bool
		connected, terminating bool
	}{
		{binnacle.ClusterReady, false, true, false}, {binnacle.ClusterUnknown, false, true, false}, {binnacle.ClusterUnreachable, false, false, false},
		{binnacle.ClusterReady, true, true, true}, {binnacle.ClusterUnreachable, true, false, true},
	} {
		view.set("c", test.phase)
		c, _ := view.Cluster("fleet/c")
		if test.deleted {
			c.Profile.DeletionTimestamp = ptr.To(metav1.Now())
		}
		if target := targetOf(c); target.Connected != test.connected || target.Terminating != test.terminating {
			t.Errorf("%+v is %+v", test, target)
		}
	}
}
