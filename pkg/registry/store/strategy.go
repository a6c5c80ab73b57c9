package store

import (
	"context"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/operation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"k8s.io/klog/v2"
)

// Strategy is what the strategies of all our namespaced kinds have in common: they treat metadata as kube-apiserver does for a custom
// resource, and what the fields may hold is declared beside the types of each version.
type Strategy struct {
	rest.DeclarativeValidation
	names.NameGenerator
}

// NewStrategy returns the common strategy for the kinds of a scheme.
func NewStrategy(scheme *runtime.Scheme) Strategy {
	return Strategy{rest.DeclarativeValidation{Scheme: scheme}, names.SimpleNameGenerator}
}

// ValidateDeclaratively runs the rules that are declared beside the types. The library also compares them with hand-written ones, for
// kinds that move from one to the other, and logs an error for each difference. Of ours only metav1.Condition has rules that it
// compares, and no hand-written ones; whoever sends a bad condition would fill the log, which therefore is not given.
func (s Strategy) ValidateDeclaratively(ctx context.Context, obj, oldObj runtime.Object, errs field.ErrorList, op operation.Type, config rest.DeclarativeValidationConfig) field.ErrorList {
	return s.DeclarativeValidation.ValidateDeclaratively(klog.NewContext(ctx, logr.Discard()), obj, oldObj, errs, op, config)
}

// NamespaceScoped is true.
func (Strategy) NamespaceScoped() bool { return true }

// Validate checks the metadata of a new object.
func (Strategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return field.ErrorList{field.InternalError(field.NewPath("metadata"), err)}
	}
	return apivalidation.ValidateObjectMetaAccessor(accessor, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
}

// ValidateUpdate checks the change of the metadata of an object.
func (Strategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return field.ErrorList{field.InternalError(field.NewPath("metadata"), err)}
	}
	oldAccessor, err := meta.Accessor(old)
	if err != nil {
		return field.ErrorList{field.InternalError(field.NewPath("metadata"), err)}
	}
	return apivalidation.ValidateObjectMetaAccessorUpdate(accessor, oldAccessor, field.NewPath("metadata"))
}

// WarningsOnCreate is empty.
func (Strategy) WarningsOnCreate(context.Context, runtime.Object) []string { return nil }

// WarningsOnUpdate is empty.
func (Strategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

// AllowCreateOnUpdate is false: PUT of an object that does not exist is 404.
func (Strategy) AllowCreateOnUpdate(context.Context) bool { return false }

// AllowUnconditionalUpdate is false: PUT without a resourceVersion is 422.
func (Strategy) AllowUnconditionalUpdate(context.Context) bool { return false }

// Canonicalize does nothing.
func (Strategy) Canonicalize(runtime.Object) {}
