package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	binnacleapi "github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	multiclusterv1alpha1 "github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
)

// TestTargetsOfARollout takes targets in each of the ways, made through one replica and advanced through the other a moment later.
func TestTargetsOfARollout(t *testing.T) {
	deciders := twoReplicas(t)
	maker, mover := deciders[0], deciders[1]
	decision := func(name, key string, clusters ...string) {
		t.Helper()
		made := &multiclusterv1alpha1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}, Decisions: multiclusterv1alpha1.ClusterDecisions{}}
		if key != "" {
			made.Labels[multiclusterv1alpha1.DecisionKeyLabel] = key
		}
		for _, cluster := range clusters {
			made.Decisions = append(made.Decisions, multiclusterv1alpha1.ClusterDecision{ClusterProfileRef: multiclusterv1alpha1.ClusterProfileReference{Name: &cluster}})
		}
		if _, err := maker.client.MulticlusterV1alpha1().PlacementDecisions(maker.namespace).Create(t.Context(), made, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 10 {
		name := fmt.Sprint("late-", round)
		late := newProfile(name)
		late.Labels = map[string]string{"round": fmt.Sprint(round)}
		maker.create(func() *v1alpha1.Rollout {
			plan := maker.plan(name, 100)
			plan.Spec.Targets.Selector.Labels.MatchLabels = late.Labels
			return plan
		}())
		if _, err := maker.client.MulticlusterV1alpha2().ClusterProfiles(maker.namespace).Create(t.Context(), late, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if status := mover.must(name, binnacleapi.VerbAdvance); status.Counts.In != 1 {
			t.Errorf("a cluster that was made a moment ago: %+v", status)
		}
	}
	maker.clusters(4)
	decision("chosen-0", "chosen", "c0", "c2")
	decision("chosen-1", "chosen", "c3", "nobody")
	decision("picked", "", "c1") // Its name is no key.
	for name, test := range map[string]struct {
		targets v1alpha1.RolloutTargets
		want    []string
	}{
		"decision": {v1alpha1.RolloutTargets{Decision: &v1alpha1.DecisionTarget{Key: "chosen"}}, []string{"c0", "c2", "c3"}},
		"list":     {v1alpha1.RolloutTargets{Clusters: []v1alpha1.ClusterReference{{Name: "c1"}, {Name: "c3"}, {Name: "nobody"}}}, []string{"c1", "c3"}},
		"labels": {v1alpha1.RolloutTargets{Selector: &v1alpha1.SelectorTarget{Namespaces: []string{"elsewhere", maker.namespace},
			Labels: &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}}}, []string{"c0", "c1", "c2", "c3"}},
	} {
		plan := maker.plan(name, 100)
		plan.Spec.Targets = test.targets
		maker.create(plan)
		mover.must(name, binnacleapi.VerbAdvance)
		if got := through(&maker.get(name).Status); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	unlabelled := maker.plan("unlabelled", 100)
	unlabelled.Spec.Targets = v1alpha1.RolloutTargets{Decision: &v1alpha1.DecisionTarget{Key: "picked"}}
	maker.create(unlabelled)
	if _, err := mover.try("unlabelled", binnacleapi.VerbAdvance, v1alpha1.RolloutActionSpec{}); causeOf(err) != "NoTargets" {
		t.Errorf("a decision that has no key: %v", err)
	}
}

// silentFleet is four clusters of which some reported once, and are Unreachable now.
func silentFleet(t *testing.T, silent ...string) decider {
	t.Helper()
	f, _ := standaloneFleet(t, "--cluster-grace-period=2s", "--cluster-grace-intervals=1")
	d := newDecider(t, f.config, f.namespace)
	d.clusters(4)
	for _, name := range silent {
		f.report(name, `"intervalSeconds":1`)
	}
	for _, name := range silent {
		f.untilPhase(name, "Unreachable")
	}
	return d
}

// TestTargetsThatDoNotReport passes over who is silent, and takes who never reported.
func TestTargetsThatDoNotReport(t *testing.T) {
	d := silentFleet(t, "c1", "c2")
	plan := d.plan("app", 50, 100)
	plan.Spec.Disconnected = v1alpha1.DisconnectedHold
	d.create(plan)
	preview, err := d.rollouts().Preview(t.Context(), "app", metav1.GetOptions{})
	if err != nil || len(preview.Status.Added) != 2 {
		t.Errorf("%v, %+v", err, preview)
	}
	d.must("app", binnacleapi.VerbAdvance)
	if got := through(&d.get("app").Status); !slices.Equal(got, []string{"c0", "c3"}) {
		t.Errorf("through are %v", got)
	}
	if status := d.must("app", binnacleapi.VerbAdvance); status.Counts.Held != 2 || status.Counts.In != 2 {
		t.Errorf("after the last step: %+v", status.Counts)
	}
	for _, c := range d.get("app").Status.Clusters {
		if held := c.Name == "c1" || c.Name == "c2"; held != (c.State == v1alpha1.ClusterHeld) || held != (c.Reason == "ReportsStopped") {
			t.Errorf("%s is %s since %q", c.Name, c.State, c.Reason)
		}
	}
}

// TestMassSilenceHoldsAll lets nobody in while so many clusters are silent that the hub is suspect.
func TestMassSilenceHoldsAll(t *testing.T) {
	d := silentFleet(t, "c0", "c1", "c2", "c3")
	d.create(d.plan("app", 50, 100))
	if _, err := d.try("app", binnacleapi.VerbAdvance, v1alpha1.RolloutActionSpec{}); causeOf(err) != "MassSilence" {
		t.Errorf("advance: %v", err)
	}
	preview, err := d.rollouts().Preview(t.Context(), "app", metav1.GetOptions{})
	if err != nil || len(preview.Status.Blockers) == 0 {
		t.Errorf("%v, %+v", err, preview)
	}
}

// TestExpressions selects by what clusters report, and refuses what is no expression where it is written.
func TestExpressions(t *testing.T) {
	onBoth(t, func(t *testing.T, d decider) {
		d.clusters(4)
		reports := newFleet(t, d.config, d.namespace)
		for cluster, gpus := range map[string]string{"c0": "8", "c1": "2", "c2": "16"} {
			reports.report(cluster, rarely+`,"resources":{"available":{"nvidia.com/gpu":"`+gpus+`"}}`)
			reports.untilPhase(cluster, "Ready")
		}
		plan := d.plan("app", 100)
		plan.Spec.Targets.Selector.Expression = `quantity(status.status.resources.available["nvidia.com/gpu"]).compareTo(quantity("8")) >= 0`
		d.create(plan)
		warned := d.warnings(func(d decider) { d.must("app", binnacleapi.VerbAdvance) })
		if got := through(&d.get("app").Status); !slices.Equal(got, []string{"c0", "c2"}) {
			t.Errorf("%v are through", got)
		}
		if !strings.Contains(strings.Join(warned, " "), d.namespace+"/c3") {
			t.Errorf("of the cluster that reports nothing: %q", warned)
		}
		for expression, said := range map[string]string{"profile.metadata.nam == 'c0'": "undefined field 'nam'", "1 + 1": "bool", "true &&": "Syntax error"} {
			bad := d.plan("bad", 100)
			bad.Spec.Targets.Selector.Expression = expression
			if _, err := d.rollouts().Create(t.Context(), bad, metav1.CreateOptions{}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.targets.selector.expression") || !strings.Contains(err.Error(), said) {
				t.Errorf("%s: %v", expression, err)
			}
		}
	})
}
