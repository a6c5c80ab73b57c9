package hubcheck

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
)

// rights asks the hub what the server's account lacks. It asks about the account, so whoever checks need not be it.
func (c *Checker) rights(ctx context.Context) ([]Finding, error) {
	namespace, name, _ := strings.Cut(c.Account, "/")
	_, err := c.Hub.CoreV1().ServiceAccounts(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return []Finding{{Check: "server-rights", Level: Note, Object: c.Account, Message: "no such service account yet: apply artifacts/base, and check again"}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read service account %s: %w", c.Account, err)
	}
	var missing []Finding
	for _, needed := range c.needed() {
		for _, verb := range needed.verbs {
			attributes := needed.attributes
			attributes.Verb = verb
			review, err := c.Hub.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{
					User:               serviceaccount.MakeUsername(namespace, name),
					Groups:             append(serviceaccount.MakeGroupNames(namespace), "system:authenticated"),
					ResourceAttributes: &attributes,
				},
			}, metav1.CreateOptions{})
			if err != nil {
				return nil, fmt.Errorf("ask for the rights of %s: %w", c.Account, err)
			}
			if !review.Status.Allowed {
				missing = append(missing, Finding{Check: "server-rights", Level: Problem, Object: c.Account,
					Message: fmt.Sprintf("may not %s %s; see artifacts/base", verb, needed.what)})
			}
		}
	}
	if len(missing) == 0 {
		return []Finding{{Check: "server-rights", Level: OK, Object: c.Account, Message: "complete"}}, nil
	}
	return missing, nil
}

// need is something that the account must be allowed.
type need struct {
	what       string
	attributes authorizationv1.ResourceAttributes
	verbs      []string
}

// needed adds to what the server waits for at start that one ConfigMap without which it does not start at all.
func (c *Checker) needed() []need {
	all := []need{{
		what:       "ConfigMap " + authenticationNamespace + "/" + authenticationConfigMap,
		attributes: authorizationv1.ResourceAttributes{Namespace: authenticationNamespace, Version: "v1", Resource: "configmaps", Name: authenticationConfigMap},
		verbs:      []string{"get", "list", "watch"},
	}}
	for _, right := range c.Rights {
		all = append(all, need{
			what:       right.GroupResource().String(),
			attributes: authorizationv1.ResourceAttributes{Group: right.Group, Version: right.Version, Resource: right.Resource},
			verbs:      right.Verbs(),
		})
	}
	return all
}
