package rollout

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/dryrun"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/registry/multicluster/placementdecision"
	"github.com/binnacle-dev/binnacle/pkg/registry/store"
	"github.com/binnacle-dev/binnacle/pkg/rollout/expression"
)

// Config is what the storage of Rollouts is made of.
type Config struct {
	Scheme  *runtime.Scheme
	Options generic.RESTOptionsGetter
	// Decisions is where the slices are published.
	Decisions *placementdecision.REST
	View      View
	// Etcd is the etcd that the storage is in, and LockPrefix where locks lie in it.
	Etcd       *clientv3.Client
	LockPrefix string
	// Events takes the events of transitions, nil where there is no hub to have them.
	Events record.EventRecorder
	// Terminating says whether a namespace is being deleted, nil where there is no hub that deletes namespaces.
	Terminating func(namespace string) bool
	// Authorizer is asked what authors of Rollouts may do elsewhere; nil allows everything.
	Authorizer authorizer.UnconditionalAuthorizer
	// Collects says that no hub deletes the slices of a Rollout that is deleted.
	Collects bool
}

// REST serves rollouts.
type REST struct {
	*store.Store
	mover  *Mover
	rights rights
}

var (
	_ rest.ShortNamesProvider = &REST{}
	_ rest.CategoriesProvider = &REST{}
	_ rest.StandardStorage    = &REST{}
)

// NewREST returns the storage of Rollouts, and what moves them.
func NewREST(c Config) (*REST, *Mover, error) {
	expressions, err := expression.NewCompiler(rememberedPrograms)
	if err != nil {
		return nil, nil, err
	}
	s := strategy{store.NewStrategy(c.Scheme), expressions.Check}
	generics := &genericregistry.Store{
		NewFunc:                   func() runtime.Object { return &binnacle.Rollout{} },
		NewListFunc:               func() runtime.Object { return &binnacle.RolloutList{} },
		DefaultQualifiedResource:  binnacle.Resource("rollouts"),
		SingularQualifiedResource: binnacle.Resource("rollout"),
		CreateStrategy:            s,
		UpdateStrategy:            s,
		DeleteStrategy:            s,
		ResetFieldsStrategy:       s,
		TableConvertor:            tableConvertor,
	}
	if err := generics.CompleteWithOptions(&generic.StoreOptions{RESTOptions: c.Options, AttrFunc: attributes}); err != nil {
		return nil, nil, err
	}
	stored := &store.Store{Store: generics, Kind: "Rollout"}
	mover := &Mover{
		rollouts: stored, decisions: c.Decisions.Store, view: c.View, locks: locks{c.Etcd, c.LockPrefix},
		expressions: expressions, events: c.Events, collects: c.Collects, feedbacks: newFeedbacks(), halves: halves{patience: wholePatience},
	}
	generics.AfterUpdate = func(object runtime.Object, _ *metav1.UpdateOptions) { mover.notify(object) }
	generics.AfterDelete = func(object runtime.Object, _ *metav1.DeleteOptions) { mover.notify(object) }
	return &REST{stored, mover, rights{c.Authorizer}}, mover, nil
}

// Subresources returns the storage of each subresource, by its name.
func Subresources(scheme *runtime.Scheme, mover *Mover) map[string]rest.Storage {
	strategy := store.NewStrategy(scheme)
	served := map[string]rest.Storage{"preview": &PreviewREST{mover}, string(binnacle.VerbFeedback): &FeedbackREST{strategy, mover}}
	for _, verb := range binnacle.RolloutVerbs {
		if verb != binnacle.VerbFeedback {
			served[string(verb)] = &ActionREST{strategy, verb, mover}
		}
	}
	return served
}

// ShortNames is what kubectl users may type. Argo's rollouts have ro.
func (*REST) ShortNames() []string { return []string{"rlt"} }

// Categories are the groups of kinds that kubectl get takes.
func (*REST) Categories() []string { return []string{"multicluster"} }

// Live implements placementdecision.Owners.
func (r *REST) Live(ctx context.Context, namespace, name string, uid types.UID) (bool, error) {
	current, err := r.mover.current(request.WithNamespace(ctx, namespace), &binnacle.Rollout{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid}})
	return current != nil, err
}

// Create stores a new Rollout whose output decision key no other has that is not finished.
func (r *REST) Create(ctx context.Context, obj runtime.Object, createValidation rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	rollout := obj.(*binnacle.Rollout)
	unlock, err := r.reserve(ctx, rollout, dryrun.IsDryRun(options.DryRun))
	if err != nil {
		return nil, err
	}
	defer unlock()
	return r.Store.Create(ctx, obj, r.rights.creation(createValidation), options)
}

// reserve makes sure that a Rollout may have its output decision key. One that has none is refused for that.
func (r *REST) reserve(ctx context.Context, rollout *binnacle.Rollout, dryRun bool) (unlock func(), err error) {
	key := rollout.Spec.Output.DecisionKey
	switch {
	case key == "":
		return func() {}, nil
	case dryRun:
		return func() {}, r.mover.refuseTaken(ctx, rollout.Name, key, false)
	}
	held, err := r.mover.claim(ctx, request.NamespaceValue(ctx), rollout.Name, key, false)
	if err != nil {
		return nil, err
	}
	return held.unlock, nil
}

// Update stores a changed Rollout. One that was not started may get another output decision key.
func (r *REST) Update(ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc, updateValidation rest.ValidateObjectUpdateFunc, forceAllowCreate bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	unlock := func() {}
	defer func() { unlock() }()
	reserved := ""
	checked := rest.WrapUpdatedObjectInfo(objInfo, func(ctx context.Context, updated, stored runtime.Object) (runtime.Object, error) {
		rollout, old := updated.(*binnacle.Rollout), stored.(*binnacle.Rollout)
		key := rollout.Spec.Output.DecisionKey
		if key == old.Spec.Output.DecisionKey || key == reserved || old.Status.Phase.Finished() {
			return updated, nil
		}
		unlock()
		var err error
		if unlock, err = r.reserve(ctx, rollout, dryrun.IsDryRun(options.DryRun)); err != nil {
			unlock = func() {}
			return nil, err
		}
		reserved = key
		return updated, nil
	})
	return r.Store.Update(ctx, name, checked, r.rights.creation(createValidation), r.rights.update(updateValidation), forceAllowCreate, options)
}

// collectPatience is how long a deletion without a hub waits for its slices to be deleted too. Those that are left follow.
const collectPatience = 10 * time.Second

// Delete removes a Rollout and, where there is no hub to do so, its slices.
func (r *REST) Delete(ctx context.Context, name string, deleteValidation rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	deleted, done, err := r.Store.Delete(ctx, name, deleteValidation, options)
	if err == nil && !dryrun.IsDryRun(options.DryRun) {
		r.collect(ctx, request.NamespaceValue(ctx), name)
	}
	return deleted, done, err
}

// DeleteCollection removes the Rollouts that are selected, as Delete does.
func (r *REST) DeleteCollection(ctx context.Context, deleteValidation rest.ValidateObjectFunc, options *metav1.DeleteOptions, listOptions *metainternalversion.ListOptions) (runtime.Object, error) {
	deleted, err := r.Store.DeleteCollection(ctx, deleteValidation, options, listOptions)
	if list, ok := deleted.(*binnacle.RolloutList); ok && err == nil && !dryrun.IsDryRun(options.DryRun) {
		for i := range list.Items {
			r.collect(ctx, list.Items[i].Namespace, list.Items[i].Name)
		}
	}
	return deleted, err
}

func (r *REST) collect(ctx context.Context, namespace, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), collectPatience)
	defer cancel()
	if err := r.mover.collect(ctx, namespace, name); err != nil {
		klog.FromContext(ctx).Error(err, "Slices of a deleted rollout are left and follow", "rollout", klog.KRef(namespace, name))
	}
}
