package hubcheck

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
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
	needed, complete := c.needed(), "complete"
	managed, err := c.managesCertificate(ctx)
	if err != nil {
		return nil, err
	}
	if managed {
		needed, complete = append(needed, c.certificateNeeds()...), "complete, with those for the managed certificate"
	}
	var missing []Finding
	for _, need := range needed {
		allowed, err := c.allowed(ctx, namespace, name, need.attributes)
		if err != nil {
			return nil, fmt.Errorf("ask for the rights of %s: %w", c.Account, err)
		}
		if !allowed {
			missing = append(missing, Finding{Check: "server-rights", Level: Problem, Object: c.Account,
				Message: fmt.Sprintf("may not %s %s; see %s", need.attributes.Verb, need.what, need.see)})
		}
	}
	if len(missing) == 0 {
		return []Finding{{Check: "server-rights", Level: OK, Object: c.Account, Message: complete}}, nil
	}
	return missing, nil
}

func (c *Checker) allowed(ctx context.Context, namespace, account string, attributes *authorizationv1.ResourceAttributes) (bool, error) {
	review, err := c.Hub.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               serviceaccount.MakeUsername(namespace, account),
			Groups:             append(serviceaccount.MakeGroupNames(namespace), "system:authenticated"),
			ResourceAttributes: attributes,
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}

// need is something that the account must be allowed, and where the right is in artifacts.
type need struct {
	what, see  string
	attributes *authorizationv1.ResourceAttributes
}

// named is what is needed of one object.
func named(see string, verbs []string, object authorizationv1.ResourceAttributes) []need {
	what := object.Name
	if object.Namespace != "" {
		what = object.Namespace + "/" + what
	}
	var all []need
	for _, verb := range verbs {
		attributes := object
		attributes.Verb, attributes.Version = verb, "v1"
		all = append(all, need{what: object.Resource + " " + what, see: see, attributes: &attributes})
	}
	return all
}

// needed adds to what the server waits for at start that one ConfigMap without which it does not start at all.
func (c *Checker) needed() []need {
	const see = "artifacts/base"
	all := named(see, []string{"get", "list", "watch"},
		authorizationv1.ResourceAttributes{Namespace: authenticationNamespace, Resource: "configmaps", Name: authenticationConfigMap})
	for _, right := range c.Rights {
		for _, verb := range right.Verbs() {
			all = append(all, need{what: right.GroupResource().String(), see: see, attributes: right.Attributes(verb)})
		}
	}
	return all
}

// managesCertificate says whether the Secret is there in which the server keeps a certificate that it makes itself. What is in it is not read.
func (c *Checker) managesCertificate(ctx context.Context) (bool, error) {
	namespace, name, _ := strings.Cut(c.ServingCert, "/")
	_, err := c.Objects.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return false, fmt.Errorf("look for Secret %s: %w", c.ServingCert, err)
	}
	return err == nil, nil
}

// certificateNeeds is without what a server with a managed certificate ends at start.
func (c *Checker) certificateNeeds() []need {
	const see = "artifacts/components/managed-certificate"
	namespace, name, _ := strings.Cut(c.ServingCert, "/")
	all := named(see, []string{"get", "update"}, authorizationv1.ResourceAttributes{Namespace: namespace, Resource: "secrets", Name: name})
	for _, gv := range c.GroupVersions {
		all = append(all, named(see, []string{"get", "patch"},
			authorizationv1.ResourceAttributes{Group: "apiregistration.k8s.io", Resource: "apiservices", Name: gv.Version + "." + gv.Group})...)
	}
	return all
}
