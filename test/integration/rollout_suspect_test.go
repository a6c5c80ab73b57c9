package integration

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	binnacleapi "github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/test/framework"
)

// looked waits until the server has looked at everything twice more that might move by itself.
func looked(t *testing.T, s *framework.Server, rollouts int) {
	t.Helper()
	before := sampleOf(t, s, "binnacle_rollout_ticks_total")
	within(t, viewPatience, "the rollouts to be looked at", func() bool {
		return sampleOf(t, s, "binnacle_rollout_ticks_total") >= before+float64(2*rollouts)
	})
}

// TestNobodyMovesWhileTheHubIsSuspect lets half a fleet fall silent at once. What follows who is Ready lets nobody in and nobody go, what takes
// steps by itself takes none; and all goes on by itself when the fleet is back, though one cluster stays away, who then leaves.
func TestNobodyMovesWhileTheHubIsSuspect(t *testing.T) {
	t.Parallel()
	servers, _, _ := startShared(t, 1, "--cluster-grace-period="+silentFor.String(), "--cluster-mass-silence-percent=30")
	server, config := servers[0], adminOf(t, servers[0])
	d := newDecider(t, config, "suspect")
	d.clusters(9)
	names := []string{"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"}
	late := names[8] // It has never reported when the others come in.
	r := newReporters(t, d.namespace, config).start(t, names, steady)
	r.mute(true, late)
	client := statusesOf(t, config, d.namespace)
	untilPhases := func(what string, phases map[string]v1alpha1.ClusterPhase, others v1alpha1.ClusterPhase) {
		t.Helper()
		untilAll(t, client, what, func(s *v1alpha1.ClusterStatus) bool {
			if phase, ok := phases[s.Name]; ok {
				return s.Status.Phase == phase
			}
			return s.Status.Phase == others
		})
	}
	untilPhases("eight to be Ready", map[string]v1alpha1.ClusterPhase{late: v1alpha1.ClusterUnknown}, v1alpha1.ClusterReady)

	follows := d.plan("follows", 100)
	follows.Spec.Drift = v1alpha1.DriftFollow
	follows.Spec.Targets.Selector.Expression = `status.status.phase == "Ready"`
	d.create(follows)
	d.must("follows", binnacleapi.VerbAdvance)
	steps := d.automatic("steps", time.Second, 50, 100)
	steps.Spec.Disconnected = v1alpha1.DisconnectedHold
	d.create(steps)
	d.must("steps", binnacleapi.VerbAdvance)
	d.must("steps", binnacleapi.VerbPause)
	d.create(d.plan("waits", 50, 100))

	silent := names[:4]
	r.mute(true, silent...)
	unreachable := map[string]v1alpha1.ClusterPhase{late: v1alpha1.ClusterUnknown}
	for _, name := range silent {
		unreachable[name] = v1alpha1.ClusterUnreachable
	}
	untilPhases("four to be Unreachable", unreachable, v1alpha1.ClusterReady)
	r.mute(false, late)
	unreachable[late] = v1alpha1.ClusterReady
	untilPhases("the late one to be Ready", unreachable, v1alpha1.ClusterReady)
	d.must("steps", binnacleapi.VerbResume)
	within(t, viewPatience, "what is held to say so", func() bool {
		held := meta.FindStatusCondition(d.get("steps").Status.Conditions, v1alpha1.ConditionHeld)
		return held != nil && held.Status == "True" && held.Reason == v1alpha1.ReasonMassSilence
	})
	looked(t, server, 2)
	for name, want := range map[string]int{"follows": 8, "steps": 5} {
		status := d.get(name).Status
		if got := through(&status); len(got) != want || !slices.Equal(got, published(d.slices(name))) {
			t.Errorf("while the hub is suspect, %s has let through %v (%v)", name, got, verbsOf(&status))
		}
	}
	if _, err := d.try("waits", binnacleapi.VerbAdvance, v1alpha1.RolloutActionSpec{}); causeOf(err) != "MassSilence" {
		t.Errorf("while the hub is suspect, an advance says: %v", err)
	}

	// All but one come back.
	r.mute(false, silent[1:]...)
	untilPhases("all but one to be Ready", map[string]v1alpha1.ClusterPhase{silent[0]: v1alpha1.ClusterUnreachable}, v1alpha1.ClusterReady)
	within(t, viewPatience, "the late one to be let in, and who stays away to leave", func() bool {
		return slices.Equal(published(d.slices("follows")), names[1:])
	})
	within(t, viewPatience, "the last step", func() bool {
		status := d.get("steps").Status
		return status.Step.Name == "p100" && len(through(&status)) >= 8
	})
	d.must("waits", binnacleapi.VerbAdvance)
	if verbs := verbsOf(&d.get("follows").Status); !slices.Contains(verbs, "leave") || !slices.Contains(verbs, "join") {
		t.Errorf("on record is %v", verbs)
	}
	r.stop()
	r.check(t)
}
