package hubcheck

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// registration is who has our group-versions.
type registration struct {
	all []Finding
	// taken are the group-versions that are sent to a server already, so that CRDs in them are hidden.
	taken sets.Set[schema.GroupVersion]
}

func (r registration) findings() []Finding { return r.all }

func (c *Checker) apiServices(ctx context.Context) (registration, error) {
	r := registration{taken: sets.New[schema.GroupVersion]()}
	for _, gv := range c.GroupVersions {
		name := gv.Version + "." + gv.Group
		service, err := c.Registration.APIServices().Get(ctx, name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return r, fmt.Errorf("read APIService %s: %w", name, err)
		}
		f := Finding{Check: "apiservice", Object: name}
		if err != nil {
			f.Level, f.Message = OK, "nobody has it"
		} else {
			f.Level, f.Message = c.owner(service)
			if service.Spec.Service != nil {
				r.taken.Insert(gv)
			}
		}
		r.all = append(r.all, f)
	}
	return r, nil
}

// owner says whose an APIService is.
func (c *Checker) owner(service *apiregistrationv1.APIService) (Level, string) {
	behind := service.Spec.Service
	switch {
	case behind == nil: // What the CRDs hold decides whether that stands in the way.
		return Note, "the hub keeps it for CRDs; register with kubectl apply --server-side --force-conflicts"
	case behind.Namespace+"/"+behind.Name == c.Service:
		return c.available(service)
	default:
		return Problem, fmt.Sprintf("another server has it, Service %s/%s", behind.Namespace, behind.Name)
	}
}

// available says whether the hub reaches the server behind an APIService of ours.
func (c *Checker) available(service *apiregistrationv1.APIService) (Level, string) {
	registered := "registered for " + c.Service
	for _, condition := range service.Status.Conditions {
		if condition.Type != apiregistrationv1.Available {
			continue
		}
		if condition.Status == apiregistrationv1.ConditionTrue {
			return OK, registered
		}
		return Problem, fmt.Sprintf("%s, and not available: %s: %s", registered, condition.Reason, condition.Message)
	}
	return Note, registered + "; the hub has not looked yet whether it is available"
}

// definitions finds the CRDs that lose a served version to us.
func (c *Checker) definitions(ctx context.Context, services registration) ([]Finding, error) {
	list, err := c.Extensions.CustomResourceDefinitions().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list CustomResourceDefinitions: %w", err)
	}
	var all []Finding
	for _, crd := range list.Items {
		for _, gv := range c.GroupVersions {
			if !servedIn(crd, gv) {
				continue
			}
			f, err := c.definition(ctx, crd, gv, services.taken.Has(gv))
			if err != nil {
				return nil, err
			}
			all = append(all, f)
		}
	}
	if len(all) == 0 {
		all = []Finding{{Check: "customresourcedefinition", Level: OK, Message: "none would be hidden"}}
	}
	return all, nil
}

func servedIn(crd apiextensionsv1.CustomResourceDefinition, gv schema.GroupVersion) bool {
	for _, version := range crd.Spec.Versions {
		if crd.Spec.Group == gv.Group && version.Name == gv.Version && version.Served {
			return true
		}
	}
	return false
}

func (c *Checker) definition(ctx context.Context, crd apiextensionsv1.CustomResourceDefinition, gv schema.GroupVersion, hidden bool) (Finding, error) {
	f := Finding{Check: "customresourcedefinition", Object: crd.Name + " " + gv.Version}
	if hidden {
		f.Level, f.Message = Note, "hidden by the APIService; what it holds cannot be counted while it is"
		if !c.Serves(gv.WithKind(crd.Spec.Names.Kind)) {
			f.Level, f.Message = Problem, "hidden by the APIService, and this server does not have the kind: its users get 404"
		}
		return f, nil
	}
	count, err := c.count(ctx, gv.WithResource(crd.Spec.Names.Plural))
	if err != nil && !answered(err) {
		return f, err
	}
	f.Level = Problem
	with := fmt.Sprintf("%d objects", count)
	if err != nil {
		with = fmt.Sprintf("objects that cannot be counted (%v)", err)
	} else {
		f.Objects = &count
	}
	switch {
	case !c.Serves(gv.WithKind(crd.Spec.Names.Kind)):
		f.Message = "would be hidden with " + with + ", and this server does not have the kind: its users would get 404. Do not register"
	case err != nil:
		f.Message = "would be hidden with " + with + ": repair or delete it"
	case count > 0:
		f.Message = "would be hidden with " + with + ": move them, see docs/operations/moving-from-crds.md"
	default:
		f.Level, f.Message = Note, "would be hidden; it holds no objects. Delete it after the registration"
	}
	return f, nil
}

// answered tells what is wrong with one CRD, such as a conversion webhook that fails, from a hub that cannot be asked, or not by us.
func answered(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err)
}

// page is how many objects are asked for at once.
const page = 500

func (c *Checker) count(ctx context.Context, resource schema.GroupVersionResource) (int64, error) {
	var count int64
	options := metav1.ListOptions{Limit: page}
	for {
		list, err := c.Objects.Resource(resource).List(ctx, options)
		if err != nil {
			return 0, fmt.Errorf("count %s: %w", resource.GroupResource(), err)
		}
		count += int64(len(list.Items))
		if options.Continue = list.Continue; options.Continue == "" {
			return count, nil
		}
	}
}
