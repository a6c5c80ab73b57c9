package integration

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	binnacleapi "github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// letDo gives a user one right in a namespace.
func letDo(t *testing.T, namespace, user, name string, rule rbacv1.PolicyRule) {
	t.Helper()
	rbac := kubernetes.NewForConfigOrDie(hub.AdminConfig()).RbacV1()
	if _, err := rbac.Roles(namespace).Create(t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{rule}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	bind(t, namespace, name, user, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name})
}

// TestAuthorsTargetWhatTheyMayRead has an editor of one namespace target clusters of another: not before it may read them there.
func TestAuthorsTargetWhatTheyMayRead(t *testing.T) {
	admin, far := newDecider(t, hub.AdminConfig(), newNamespace(t)), newNamespace(t)
	user := "author-" + admin.namespace
	letBe(t, admin.namespace, user, "binnacle-edit")
	author := newDecider(t, hub.ConfigFor(user), admin.namespace)
	selecting := func(name, expression string) *v1alpha1.Rollout {
		plan := author.plan(name, 50, 100)
		plan.Spec.Targets.Selector.Namespaces = []string{admin.namespace, far}
		plan.Spec.Targets.Selector.Expression = expression
		return plan
	}
	naming := func(name, cluster string) *v1alpha1.Rollout {
		plan := author.plan(name, 50, 100)
		plan.Spec.Targets = v1alpha1.RolloutTargets{Clusters: []v1alpha1.ClusterReference{{Name: "c0"}, {Name: cluster, Namespace: far}}}
		return plan
	}
	try := func(plan *v1alpha1.Rollout, options ...string) error {
		_, err := author.rollouts().Create(t.Context(), plan, metav1.CreateOptions{DryRun: options})
		return err
	}
	refused := func(what string, err error, parts ...string) {
		t.Helper()
		if !apierrors.IsForbidden(err) || slices.ContainsFunc(append(parts, user, far), func(part string) bool { return !strings.Contains(err.Error(), part) }) {
			t.Errorf("%s: %v", what, err)
		}
	}
	eventually(t, "the author to have its own namespace", func() bool { return !apierrors.IsForbidden(try(author.plan("own", 50, 100), "All")) })
	refused("selector", try(selecting("selector", "")), "spec.targets.selector.namespaces[1]", "list clusterprofiles.multicluster.x-k8s.io")
	refused("list", try(naming("list", "c1")), "spec.targets.clusters[1]", "get clusterprofiles.multicluster.x-k8s.io")

	profiles := rbacv1.PolicyRule{APIGroups: []string{"multicluster.x-k8s.io"}, Resources: []string{"clusterprofiles"}}
	named := profiles
	named.Verbs, named.ResourceNames = []string{"get"}, []string{"c1"}
	letDo(t, far, user, "one", named)
	eventually(t, "the author to read one cluster", func() bool { return try(naming("list", "c1"), "All") == nil })
	refused("list with another", try(naming("list", "c2")), "spec.targets.clusters[1]")

	listing := profiles
	listing.Verbs = []string{"list"}
	letDo(t, far, user, "all", listing)
	eventually(t, "the author to list clusters", func() bool { return try(selecting("selector", ""), "All") == nil })
	refused("expression", try(selecting("expression", "true")), "spec.targets.selector.namespaces[1]", "list clusterstatuses.binnacle.dev")

	// What an author wrote who may is another's to edit, but not to extend.
	created := admin.create(selecting("theirs", "true"))
	created.Labels = map[string]string{"touched": "yes"}
	created, err := author.rollouts().Update(t.Context(), created, metav1.UpdateOptions{})
	if err != nil {
		t.Fatalf("update of labels: %v", err)
	}
	created.Spec.Targets.Selector.Expression = "true || true"
	_, err = author.rollouts().Update(t.Context(), created, metav1.UpdateOptions{})
	refused("update of the expression", err, "list clusterstatuses.binnacle.dev")
}

// TestRunsAreNotEditedPastTheirGates has an editor change the plan of a run: not unless it may promote.
func TestRunsAreNotEditedPastTheirGates(t *testing.T) {
	admin := newDecider(t, hub.AdminConfig(), newNamespace(t))
	admin.clusters(4)
	admin.create(admin.plan("app", 25, 50, 100))
	user := "editor-" + admin.namespace
	letBe(t, admin.namespace, user, "binnacle-edit")
	editor := newDecider(t, hub.ConfigFor(user), admin.namespace)
	edit := func(progression v1alpha1.Progression) error {
		rollout := admin.get("app")
		rollout.Spec.Progression = progression
		_, err := editor.rollouts().Update(t.Context(), rollout, metav1.UpdateOptions{})
		return err
	}
	eventually(t, "the editor to edit before the start", func() bool { return edit(v1alpha1.ProgressionAutomatic) == nil })
	if err := edit(v1alpha1.ProgressionManual); err != nil {
		t.Fatal(err)
	}
	admin.must("app", binnacleapi.VerbAdvance)
	if err := edit(v1alpha1.ProgressionAutomatic); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "create rollouts/promote.binnacle.dev") {
		t.Errorf("edit of a run: %v", err)
	}
	rollout := admin.get("app")
	rollout.Annotations = map[string]string{"note": "seen"}
	if _, err := editor.rollouts().Update(t.Context(), rollout, metav1.UpdateOptions{}); err != nil {
		t.Errorf("edit of an annotation: %v", err)
	}
	// What a complete rollout follows lets clusters in as well, and other changes wait for an advance.
	admin.must("app", binnacleapi.VerbPromote, v1alpha1.RolloutActionSpec{Reason: "rights"})
	follow := func() error {
		rollout := admin.get("app")
		rollout.Spec.Drift = v1alpha1.DriftFollow
		_, err := editor.rollouts().Update(t.Context(), rollout, metav1.UpdateOptions{})
		return err
	}
	if err := follow(); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "create rollouts/promote.binnacle.dev") {
		t.Errorf("another drift of a complete rollout: %v", err)
	}
	if err := edit(v1alpha1.ProgressionAutomatic); err != nil {
		t.Errorf("the progression of the next run: %v", err)
	}
	letDo(t, admin.namespace, user, "promoter", rbacv1.PolicyRule{APIGroups: []string{ownGroup}, Resources: []string{"rollouts/promote"}, Verbs: []string{"create"}})
	eventually(t, "the editor to promote", func() bool { return follow() == nil })
}
