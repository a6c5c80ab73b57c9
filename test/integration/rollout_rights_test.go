package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	binnacleapi "github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// letBe binds a user to a ClusterRole in a namespace.
func letBe(t *testing.T, namespace, user, role string) {
	t.Helper()
	bind(t, namespace, user, user, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role})
}

// bind makes a RoleBinding for a user.
func bind(t *testing.T, namespace, name, user string, role rbacv1.RoleRef) {
	t.Helper()
	if _, err := kubernetes.NewForConfigOrDie(hub.AdminConfig()).RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
		RoleRef:    role,
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestRightsOfVerbs calls each verb as one who has the right to it and no other, and as the holders of the shipped roles. A verb that is
// allowed is refused for another reason than rights, or followed.
func TestRightsOfVerbs(t *testing.T) {
	admin := newDecider(t, hub.AdminConfig(), newNamespace(t))
	admin.clusters(2)
	admin.create(admin.plan("app", 50, 100))
	rbac := kubernetes.NewForConfigOrDie(hub.AdminConfig()).RbacV1()
	operator := []binnacleapi.RolloutVerb{binnacleapi.VerbAbort, binnacleapi.VerbAdvance, binnacleapi.VerbPause, binnacleapi.VerbPromote, binnacleapi.VerbResume, binnacleapi.VerbRetry, binnacleapi.VerbRollback}
	may := map[string][]binnacleapi.RolloutVerb{
		"binnacle-rollout-operator": operator, "binnacle-rollout-approver": {binnacleapi.VerbApprove}, "binnacle-rollout-consumer": {binnacleapi.VerbFeedback},
		"binnacle-view": nil, "binnacle-edit": nil, "binnacle-admin": nil,
	}
	for _, verb := range binnacleapi.RolloutVerbs {
		role := fmt.Sprintf("only-%s-%s", verb, admin.namespace)
		if _, err := rbac.ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: role}, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{ownGroup}, Resources: []string{"rollouts/" + string(verb)}, Verbs: []string{"create"}}}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = rbac.ClusterRoles().Delete(context.WithoutCancel(t.Context()), role, metav1.DeleteOptions{})
		})
		may[role] = []binnacleapi.RolloutVerb{verb}
	}
	for role, verbs := range may {
		user := "holder-of-" + role + admin.namespace
		letBe(t, admin.namespace, user, role)
		d := newDecider(t, hub.ConfigFor(user), admin.namespace)
		for _, verb := range binnacleapi.RolloutVerbs {
			asked := func() error {
				if verb == binnacleapi.VerbFeedback {
					_, err := d.report("app", "c0", 1, v1alpha1.OutcomeSucceeded, "All")
					return err
				}
				spec := v1alpha1.RolloutActionSpec{}
				if verb == binnacleapi.VerbRollback {
					spec.ToRevision = ptr.To[int64](1)
				}
				if verb == binnacleapi.VerbPromote {
					spec.Reason = "rights"
				}
				_, err := d.try("app", verb, spec, "All")
				return err
			}
			if slices.Contains(verbs, verb) {
				eventually(t, role+" to be bound", func() bool { return !apierrors.IsForbidden(asked()) })
			} else if err := asked(); !apierrors.IsForbidden(err) {
				t.Errorf("%s may %s: %v", role, verb, err)
			}
		}
		_, err := d.rollouts().Preview(t.Context(), "app", metav1.GetOptions{})
		if reads := strings.HasPrefix(role, "binnacle-") && role != "binnacle-rollout-consumer"; reads == apierrors.IsForbidden(err) {
			t.Errorf("preview by %s: %v", role, err)
		}
	}
}

// TestApproversAreOthers lets one start and others approve.
func TestApproversAreOthers(t *testing.T) {
	admin := newDecider(t, hub.AdminConfig(), newNamespace(t))
	admin.clusters(2)
	plan := admin.plan("app", 50, 100)
	plan.Spec.Steps[0].Gate = &v1alpha1.RolloutGate{Approval: ptr.To[int32](2)}
	admin.create(plan)
	admin.must("app", binnacleapi.VerbAdvance)
	if _, err := admin.try("app", binnacleapi.VerbApprove, v1alpha1.RolloutActionSpec{}); causeOf(err) != "Approver" {
		t.Errorf("approval by who started: %v", err)
	}
	for _, user := range []string{"ann", "bob"} {
		if _, err := admin.try("app", binnacleapi.VerbAdvance, v1alpha1.RolloutActionSpec{}); causeOf(err) != "Gate" {
			t.Errorf("advance before %s approved: %v", user, err)
		}
		letBe(t, admin.namespace, user, "binnacle-rollout-approver")
		d := newDecider(t, hub.ConfigFor(user), admin.namespace)
		eventually(t, user+" to approve", func() bool {
			_, err := d.try("app", binnacleapi.VerbApprove, v1alpha1.RolloutActionSpec{Reason: "looks good"})
			return err == nil
		})
		if _, err := d.try("app", binnacleapi.VerbApprove, v1alpha1.RolloutActionSpec{}); causeOf(err) == "" {
			t.Errorf("%s approved twice: %v", user, err)
		}
	}
	admin.must("app", binnacleapi.VerbAdvance)
}

// TestPoliciesSeeTheRollout has a policy of the hub that denies verbs by what the Rollout is, and wants it to hold, for dry runs too.
func TestPoliciesSeeTheRollout(t *testing.T) {
	d := newDecider(t, hub.AdminConfig(), newNamespace(t))
	d.clusters(2)
	frozen := d.plan("frozen", 50, 100)
	frozen.Labels = map[string]string{"change-freeze": d.namespace}
	d.create(frozen)
	d.create(d.plan("free", 50, 100))
	registration := kubernetes.NewForConfigOrDie(hub.AdminConfig()).AdmissionregistrationV1()
	name, ctx := "freeze-"+d.namespace, context.WithoutCancel(t.Context())
	if _, err := registration.ValidatingAdmissionPolicies().Create(ctx, &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: ptr.To(admissionregistrationv1.Fail),
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{ownGroup}, APIVersions: []string{"*"}, Resources: []string{"rollouts/advance", "rollouts/feedback"}},
			}}}},
			MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "namespace", Expression: "object.metadata.namespace == '" + d.namespace + "'"}},
			Validations: []admissionregistrationv1.Validation{{
				Expression:        `!has(object.metadata.labels) || !('change-freeze' in object.metadata.labels)`,
				MessageExpression: `'frozen: ' + request.subResource + ' of ' + object.metadata.name + ' in ' + object.status.phase`,
			}},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = registration.ValidatingAdmissionPolicies().Delete(ctx, name, metav1.DeleteOptions{}) })
	if _, err := registration.ValidatingAdmissionPolicyBindings().Create(ctx, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = registration.ValidatingAdmissionPolicyBindings().Delete(ctx, name, metav1.DeleteOptions{}) })
	denied := func(err error, verb string) bool {
		return apierrors.IsInvalid(err) && strings.Contains(err.Error(), "frozen: "+verb+" of frozen in Pending")
	}
	within(t, 2*requestTimeout, "the policy to be enforced", func() bool {
		_, err := d.try("frozen", binnacleapi.VerbAdvance, v1alpha1.RolloutActionSpec{}, "All")
		return denied(err, "advance")
	})
	if _, err := d.try("frozen", binnacleapi.VerbAdvance, v1alpha1.RolloutActionSpec{}); !denied(err, "advance") {
		t.Errorf("advance: %v", err)
	}
	if _, err := d.report("frozen", "c0", 1, v1alpha1.OutcomeSucceeded); !denied(err, "feedback") {
		t.Errorf("feedback: %v", err)
	}
	d.must("free", binnacleapi.VerbAdvance)
	if r := d.get("frozen"); r.Status.Phase != v1alpha1.RolloutPending {
		t.Errorf("the frozen one is %s", r.Status.Phase)
	}
}
