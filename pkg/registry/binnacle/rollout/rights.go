package rollout

import (
	"context"
	"fmt"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	multiclusterv1alpha1 "github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
)

// rights asks what an author of Rollouts may do beside writing them, as RBAC does for who writes roles: a Rollout must show nobody
// clusters of other namespaces that its author may not read, and must not be a way around the rights to the verbs that move it. A nil
// authorizer allows everything.
type rights struct {
	authorizer.UnconditionalAuthorizer
}

// creation puts the question behind the validation of a new Rollout.
func (r rights) creation(next rest.ValidateObjectFunc) rest.ValidateObjectFunc {
	return func(ctx context.Context, object runtime.Object) error {
		if err := r.mayTarget(ctx, object.(*binnacle.Rollout)); err != nil || next == nil {
			return err
		}
		return next(ctx, object)
	}
}

// update puts the question behind the validation of a changed Rollout, as far as the change makes it one.
func (r rights) update(next rest.ValidateObjectUpdateFunc) rest.ValidateObjectUpdateFunc {
	return func(ctx context.Context, object, old runtime.Object) error {
		rollout, before := object.(*binnacle.Rollout), old.(*binnacle.Rollout)
		if !apiequality.Semantic.DeepEqual(rollout.Spec.Targets, before.Spec.Targets) {
			if err := r.mayTarget(ctx, rollout); err != nil {
				return err
			}
		}
		if err := r.mayChangeRun(ctx, rollout, before); err != nil || next == nil {
			return err
		}
		return next(ctx, object, old)
	}
}

// mayTarget wants the author to be able to read the clusters of other namespaces that the targets may be.
func (r rights) mayTarget(ctx context.Context, rollout *binnacle.Rollout) error {
	targets, at := &rollout.Spec.Targets, field.NewPath("spec", "targets")
	if selector := targets.Selector; selector != nil {
		for i, namespace := range selector.Namespaces {
			if namespace == rollout.Namespace {
				continue
			}
			where := at.Child("selector", "namespaces").Index(i)
			if err := r.want(ctx, rollout, where, profiles(namespace, "list"), toTarget); err != nil {
				return err
			}
			if selector.Expression == "" {
				continue
			}
			if err := r.want(ctx, rollout, where, own("clusterstatuses", "", namespace, "", "list"), toTarget); err != nil {
				return err
			}
		}
	}
	var readable []string
	for i, cluster := range targets.Clusters {
		if cluster.Namespace == "" || cluster.Namespace == rollout.Namespace || slices.Contains(readable, cluster.Namespace) {
			continue
		}
		asked := profiles(cluster.Namespace, "get")
		if allowed, err := r.ask(ctx, asked); err != nil {
			return err
		} else if allowed { // One question for all clusters of the namespace.
			readable = append(readable, cluster.Namespace)
			continue
		}
		asked.Name = cluster.Name
		if err := r.want(ctx, rollout, at.Child("clusters").Index(i), asked, toTarget); err != nil {
			return err
		}
	}
	return nil
}

// mayChangeRun wants who changes what is let in by itself to have the right to promote. While a run goes on that is all of the spec: with the
// gates, the progression or the budget one could let everybody in. After its end it is what the rollout still follows.
func (r rights) mayChangeRun(ctx context.Context, rollout, old *binnacle.Rollout) error {
	phase, spec, before := old.Status.Phase, &rollout.Spec, &old.Spec
	switch {
	case phase == binnacle.RolloutPending, apiequality.Semantic.DeepEqual(spec, before):
		return nil
	case phase.Finished() && (phase != binnacle.RolloutCompleted || spec.Drift == before.Drift && spec.Disconnected == before.Disconnected):
		return nil
	}
	return r.want(ctx, rollout, field.NewPath("spec"), own("rollouts", string(binnacle.VerbPromote), rollout.Namespace, rollout.Name, "create"),
		"to change the spec while a run goes on, or what it follows once it is complete")
}

func profiles(namespace, verb string) authorizer.AttributesRecord {
	return authorizer.AttributesRecord{ResourceRequest: true, Verb: verb, Namespace: namespace, APIGroup: multicluster.GroupName,
		APIVersion: multiclusterv1alpha1.SchemeGroupVersion.Version, Resource: "clusterprofiles"}
}

func own(resource, subresource, namespace, name, verb string) authorizer.AttributesRecord {
	return authorizer.AttributesRecord{ResourceRequest: true, Verb: verb, Namespace: namespace, Name: name, APIGroup: binnacle.GroupName,
		APIVersion: v1alpha1.SchemeGroupVersion.Version, Resource: resource, Subresource: subresource}
}

// ask says whether who sends the request may do something else too. Its error is an answer.
func (r rights) ask(ctx context.Context, asked authorizer.AttributesRecord) (bool, error) {
	if r.UnconditionalAuthorizer == nil {
		return true, nil
	}
	user, ok := request.UserFrom(ctx)
	if !ok {
		return false, apierrors.NewInternalError(fmt.Errorf("the request has no user"))
	}
	asked.User = user
	decision, _, err := r.Authorize(ctx, asked)
	if decision != authorizer.DecisionAllow && err != nil {
		return false, apierrors.NewInternalError(fmt.Errorf("cannot ask for the rights of %q: %w", user.GetName(), err))
	}
	return decision == authorizer.DecisionAllow, nil
}

// toTarget is what the rights to read clusters are wanted for.
const toTarget = "to have its clusters as targets"

// want is 403 for a Rollout whose author lacks a right that a field needs, and says what it is wanted for.
func (r rights) want(ctx context.Context, rollout *binnacle.Rollout, where *field.Path, asked authorizer.AttributesRecord, why string) error {
	allowed, err := r.ask(ctx, asked)
	if err != nil || allowed {
		return err
	}
	user, _ := request.UserFrom(ctx)
	resource := asked.Resource
	if asked.Subresource != "" {
		resource += "/" + asked.Subresource
	}
	return apierrors.NewForbidden(binnacle.Resource("rollouts"), rollout.Name, fmt.Errorf("%s: user %q needs the right to %s %s.%s in the namespace %q %s",
		where, user.GetName(), asked.Verb, resource, asked.APIGroup, asked.Namespace, why))
}
