package integration

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	binnacleapi "github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	multiclusterv1alpha1 "github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha2"
	"github.com/binnacle-dev/binnacle/test/framework"
)

// TestShippedPolicies applies artifacts/policies to the hub, and has each policy refuse what it is there for and let the rest through.
func TestShippedPolicies(t *testing.T) {
	root, err := framework.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	dir, ctx := filepath.Join(root, "artifacts", "policies"), context.WithoutCancel(t.Context())
	if _, _, err := hub.Kubectl(ctx, "apply", "--server-side", "-k", dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, _, err := hub.Kubectl(ctx, "delete", "-k", dir); err != nil {
			t.Error(err)
		}
	})
	for label, test := range map[string]func(*testing.T, decider){
		"access-fields": testAccessFields, "decision-producer": testDecisionProducer, "prod-by-rollout": testProdByRollout,
		"prod-approvers": testProdApprovers, "share-of-clusters": testShareOfClusters, "region": testRegion,
	} {
		t.Run(label, func(t *testing.T) {
			d := newDecider(t, hub.AdminConfig(), newNamespace(t))
			patch := fmt.Sprintf(`{"metadata":{"labels":{"policies.binnacle.dev/%s":"eu"}}}`, label)
			if _, err := kubernetes.NewForConfigOrDie(hub.AdminConfig()).CoreV1().Namespaces().Patch(t.Context(), d.namespace, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			test(t, d)
		})
	}
}

// register makes a ClusterProfile with labels.
func (d decider) register(name string, labels map[string]string) {
	d.t.Helper()
	profile := newProfile(name)
	profile.Labels = labels
	if _, err := d.client.MulticlusterV1alpha2().ClusterProfiles(d.namespace).Create(d.t.Context(), profile, metav1.CreateOptions{}); err != nil {
		d.t.Fatal(err)
	}
}

// decide makes a decision for clusters of the namespace.
func (d decider) decide(name string, clusters ...string) error {
	decision := &multiclusterv1alpha1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Name: name}, Decisions: multiclusterv1alpha1.ClusterDecisions{}}
	for _, cluster := range clusters {
		decision.Decisions = append(decision.Decisions, multiclusterv1alpha1.ClusterDecision{ClusterProfileRef: multiclusterv1alpha1.ClusterProfileReference{Name: ptr.To(cluster)}})
	}
	_, err := d.client.MulticlusterV1alpha1().PlacementDecisions(d.namespace).Create(d.t.Context(), decision, metav1.CreateOptions{})
	return err
}

// deniedBy says whether a policy of ours refused something, with a text.
func deniedBy(err error, policy, text string) bool {
	return (apierrors.IsInvalid(err) || apierrors.IsForbidden(err)) && strings.Contains(err.Error(), policy) && strings.Contains(err.Error(), text)
}

func testAccessFields(t *testing.T, admin decider) {
	admin.register("c", nil)
	manager := "manager-" + admin.namespace
	letBe(t, admin.namespace, manager, "binnacle-inventory-manager")
	profiles := newDecider(t, hub.ConfigFor(manager), admin.namespace).client.MulticlusterV1alpha2().ClusterProfiles(admin.namespace)
	to := func(server string) error {
		current, err := profiles.Get(t.Context(), "c", metav1.GetOptions{})
		if err != nil {
			return err
		}
		current.Status.AccessProviders = []v1alpha2.AccessProvider{{Name: ptr.To("cat")}}
		current.Status.AccessProviders[0].Cluster = &v1alpha2.Cluster{Server: ptr.To(server)}
		_, err = profiles.UpdateStatus(t.Context(), current, metav1.UpdateOptions{})
		return err
	}
	n := 0
	within(t, 2*requestTimeout, "access to be kept", func() bool {
		n++ // What does not change is nobody's business.
		return deniedBy(to(fmt.Sprint("https://elsewhere-", n)), "binnacle-access-fields", "clusterprofiles/access")
	})
	profile, err := profiles.Get(t.Context(), "c", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	profile.Status.Properties = []v1alpha2.Property{{Name: "p", Value: "v"}}
	if _, err := profiles.UpdateStatus(t.Context(), profile, metav1.UpdateOptions{}); err != nil {
		t.Errorf("another field of the status: %v", err)
	}
	letDo(t, admin.namespace, manager, "access", rbacv1.PolicyRule{APIGroups: []string{"multicluster.x-k8s.io"}, Resources: []string{"clusterprofiles/access"}, Verbs: []string{"update"}})
	eventually(t, "who has the right to write it", func() bool { return to("https://there") == nil })
}

func testDecisionProducer(t *testing.T, admin decider) {
	for _, user := range []string{"one", "two"} {
		letBe(t, admin.namespace, user+admin.namespace, "binnacle-scheduler")
	}
	one, two := newDecider(t, hub.ConfigFor("one"+admin.namespace), admin.namespace), newDecider(t, hub.ConfigFor("two"+admin.namespace), admin.namespace)
	decisions := func(d decider) func(name string, annotate string) error {
		return func(name, annotate string) error {
			client := d.client.MulticlusterV1alpha1().PlacementDecisions(d.namespace)
			current, err := client.Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			current.SchedulerName = d.config.Username
			if annotate != "" {
				current.Annotations["policies.binnacle.dev/producer"] = annotate
			}
			_, err = client.Update(t.Context(), current, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
			return err
		}
	}
	n := 0
	within(t, 2*requestTimeout, "others to be refused", func() bool {
		n++
		name := fmt.Sprint("d", n)
		return one.decide(name, "c") == nil && deniedBy(decisions(two)(name, ""), "binnacle-decision-producer", "is of one"+admin.namespace)
	})
	name := fmt.Sprint("d", n)
	if err := decisions(one)(name, ""); err != nil {
		t.Errorf("its producer: %v", err)
	}
	if err := decisions(one)(name, "two"+admin.namespace); !deniedBy(err, "binnacle-decision-producer", "cannot be changed") {
		t.Errorf("a gift to another: %v", err)
	}
	if err := two.client.MulticlusterV1alpha1().PlacementDecisions(admin.namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); !deniedBy(err, "binnacle-decision-producer", "who alone writes it") {
		t.Errorf("deletion by another: %v", err)
	}
}

func testProdByRollout(t *testing.T, d decider) {
	d.register("c0", map[string]string{"env": "prod"})
	d.register("c1", map[string]string{"env": "dev"})
	within(t, 2*requestTimeout, "prod to be kept", func() bool {
		return deniedBy(d.decide("prod", "c1", "c0"), "binnacle-prod-by-rollout", d.namespace+"/c0 has env=prod")
	})
	if err := d.decide("dev", "c1"); err != nil {
		t.Errorf("another cluster: %v", err)
	}
	d.create(d.plan("app", 100))
	if d.must("app", binnacleapi.VerbAdvance); d.get("app").Status.Counts.In != 1 {
		t.Errorf("a Rollout does not let it in: %+v", d.get("app").Status.Counts)
	}
}

func testProdApprovers(t *testing.T, d decider) {
	rings := func(approvals *int32, first string, second string) error {
		plan := d.plan("app", 100)
		ring := func(name, env string) v1alpha1.RolloutStep {
			return v1alpha1.RolloutStep{Name: name, ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"env": env}}}
		}
		plan.Spec.Steps = append([]v1alpha1.RolloutStep{ring("first", first), ring("second", second)}, plan.Spec.Steps...)
		if approvals != nil {
			plan.Spec.Steps[0].Gate = &v1alpha1.RolloutGate{Approval: approvals}
		}
		_, err := d.rollouts().Create(t.Context(), plan, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	const policy = "binnacle-prod-approvers"
	within(t, 2*requestTimeout, "approvers to be wanted", func() bool { return deniedBy(rings(nil, "dev", "prod"), policy, "approval 2 or more") })
	for _, test := range []struct {
		approvals     *int32
		first, second string
		text          string
	}{
		{ptr.To[int32](1), "dev", "prod", "approval 2 or more"},
		{ptr.To[int32](2), "prod", "dev", "first step"},
		{ptr.To[int32](2), "dev", "prod", ""},
		{nil, "dev", "test", ""},
	} {
		if err := rings(test.approvals, test.first, test.second); test.text == "" && err != nil || test.text != "" && !deniedBy(err, policy, test.text) {
			t.Errorf("%s, then %s: %v", test.first, test.second, err)
		}
	}
}

func testShareOfClusters(t *testing.T, d decider) {
	const counted = "clusterprofiles.multicluster.x-k8s.io"
	awaitCounted(t, hub, counted)
	d.clusters(11)
	quotas := kubernetes.NewForConfigOrDie(hub.AdminConfig()).CoreV1().ResourceQuotas(d.namespace)
	if _, err := quotas.Create(t.Context(), &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "clusters"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/" + counted: resource.MustParse("100")}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	within(t, countDelay, "the clusters to be counted", func() bool {
		quota, err := quotas.Get(t.Context(), "clusters", metav1.GetOptions{})
		used := quota.Status.Used["count/"+counted]
		return err == nil && used.Value() == 11
	})
	n := 0
	within(t, 2*requestTimeout, "the share to be kept", func() bool {
		n++
		return deniedBy(d.decide(fmt.Sprint("three", n), "c0", "c1", "c2"), "binnacle-share-of-clusters", "names 3 of 11")
	})
	eventually(t, "a tenth, rounded up", func() bool { return d.decide("two", "c0", "c1") == nil })
}

func testRegion(t *testing.T, d decider) {
	d.register("c0", map[string]string{"region": "eu", "env": "prod"})
	d.register("c1", map[string]string{"region": "us"})
	d.register("c2", nil)
	within(t, 2*requestTimeout, "the region to be kept", func() bool {
		return deniedBy(d.decide("us", "c0", "c1"), "binnacle-region-of-decisions", "/c1 is not in the region eu")
	})
	if err := d.decide("none", "c2"); !deniedBy(err, "binnacle-region-of-decisions", "/c2 is not in the region eu") {
		t.Errorf("a cluster without a region: %v", err)
	}
	if err := d.decide("eu", "c0"); err != nil {
		t.Errorf("a cluster of the region: %v", err)
	}
	if _, err := d.rollouts().Create(t.Context(), d.plan("all", 100), metav1.CreateOptions{}); !deniedBy(err, "binnacle-region-of-rollouts", "region must be eu") {
		t.Errorf("a Rollout for all regions: %v", err)
	}
	plan := d.plan("eu", 100)
	plan.Spec.Targets.Selector.Labels.MatchLabels["region"] = "eu"
	d.create(plan)
}
