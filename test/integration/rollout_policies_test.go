package integration

import (
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	binnacleapi "github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// TestPoliciesOfOneVerb has a policy that changes advances, and one that denies advances of what has a label, by conditions on the subresource
// and the Rollout that it is of.
func TestPoliciesOfOneVerb(t *testing.T) {
	d := newDecider(t, hub.AdminConfig(), newNamespace(t))
	d.clusters(4)
	held := d.plan("held", 50, 100)
	held.Labels = map[string]string{"hold": "audit"}
	d.create(held)
	d.create(d.plan("free", 50, 100))
	registration, ctx, named := registering(t, d.namespace)
	selector, all := rules(d.namespace, "rollouts/*")
	match := &admissionregistrationv1.MatchResources{NamespaceSelector: selector, ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: all}}}
	onlyAdvance := admissionregistrationv1.MatchCondition{Name: "advance", Expression: `request.subResource == "advance"`}
	mutate := &admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: named, Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
		MatchConstraints: match, MatchConditions: []admissionregistrationv1.MatchCondition{onlyAdvance}, FailurePolicy: ptr.To(admissionregistrationv1.Fail),
		ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
		Mutations: []admissionregistrationv1.Mutation{{PatchType: admissionregistrationv1.PatchTypeApplyConfiguration, ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{
			Expression: `Object{spec: Object.spec{reason: "asked by " + request.userInfo.username}}`}}},
	}}
	deny := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: named, Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: match, FailurePolicy: ptr.To(admissionregistrationv1.Fail), MatchConditions: []admissionregistrationv1.MatchCondition{onlyAdvance,
			{Name: "new", Expression: "oldObject == null"}, {Name: "labelled", Expression: `has(object.metadata.labels) && "hold" in object.metadata.labels`}},
		Validations: []admissionregistrationv1.Validation{{Expression: `object.status.phase == "Completed"`,
			MessageExpression: `"held for " + object.metadata.labels.hold + ": " + object.metadata.name + ", " + object.spec.reason`}},
	}}
	for _, create := range []func() error{
		func() error {
			_, err := registration.MutatingAdmissionPolicies().Create(ctx, mutate, metav1.CreateOptions{})
			return err
		},
		func() error {
			_, err := registration.MutatingAdmissionPolicyBindings().Create(ctx, &admissionregistrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: named, Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: named.Name}}, metav1.CreateOptions{})
			return err
		},
		func() error {
			_, err := registration.ValidatingAdmissionPolicies().Create(ctx, deny, metav1.CreateOptions{})
			return err
		},
		func() error {
			_, err := registration.ValidatingAdmissionPolicyBindings().Create(ctx, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: named, Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: named.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}}}, metav1.CreateOptions{})
			return err
		},
	} {
		if err := create(); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		_ = registration.MutatingAdmissionPolicyBindings().Delete(ctx, named.Name, metav1.DeleteOptions{})
		_ = registration.MutatingAdmissionPolicies().Delete(ctx, named.Name, metav1.DeleteOptions{})
		_ = registration.ValidatingAdmissionPolicyBindings().Delete(ctx, named.Name, metav1.DeleteOptions{})
		_ = registration.ValidatingAdmissionPolicies().Delete(ctx, named.Name, metav1.DeleteOptions{})
	})
	denied := func(dryRun ...string) error {
		_, err := d.try("held", binnacleapi.VerbAdvance, v1alpha1.RolloutActionSpec{}, dryRun...)
		return err
	}
	within(t, 2*requestTimeout, "both policies to be enforced", func() bool {
		err := denied("All")
		return err != nil && strings.Contains(err.Error(), "held for audit: held, asked by admin")
	})
	if err := denied(); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "held for audit: held, asked by admin") || d.get("held").Status.Phase != v1alpha1.RolloutPending {
		t.Errorf("an advance of what is held: %v, and it is %s", err, d.get("held").Status.Phase)
	}
	if _, err := d.rollouts().Preview(t.Context(), "held", metav1.GetOptions{}); err != nil {
		t.Errorf("a preview of what is held: %v", err)
	}
	d.must("held", binnacleapi.VerbAbort, v1alpha1.RolloutActionSpec{Reason: "my own"})
	d.must("free", binnacleapi.VerbAdvance, v1alpha1.RolloutActionSpec{Reason: "overwritten"})
	for name, want := range map[string]string{"held": "my own", "free": "asked by admin"} {
		if got := d.get(name).Status.Transitions[0].Reason; got != want {
			t.Errorf("%s: on record is %q, want %q", name, got, want)
		}
	}
}
