package kubectl

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned"
	informers "github.com/binnacle-dev/binnacle/pkg/generated/informers/externalversions/binnacle/v1alpha1"
)

// pace is how often times that pass are looked at.
const pace = time.Second

// follower follows one rollout.
type follower struct {
	client          versioned.Interface
	namespace, name string
	// see gets the rollout as it is, with each change, and as time passes. It says when it has seen enough.
	see func(*v1alpha1.Rollout) (bool, error)
	// lost is told, when the watch is lost, why.
	lost func(error)
}

// run follows until see has seen enough, the context ends, or the rollout is gone. A watch that is lost is taken up again, however often.
func (f *follower) run(ctx context.Context) error {
	rollout, err := f.client.BinnacleV1alpha1().Rollouts(f.namespace).Get(ctx, f.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if done, err := f.see(rollout); done || err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	changes, err := f.watch(ctx, stop, rollout)
	if err != nil {
		return err
	}
	clock := time.NewTicker(pace)
	defer clock.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case rollout = <-changes:
		case <-clock.C:
		}
		if done, err := f.see(rollout); done || err != nil {
			return err
		}
	}
}

// watch sends what the rollout changes to. It stops the context where it cannot go on.
func (f *follower) watch(ctx context.Context, stop context.CancelCauseFunc, seen *v1alpha1.Rollout) (<-chan *v1alpha1.Rollout, error) {
	changes := make(chan *v1alpha1.Rollout)
	only := fields.OneTermEqualSelector(metav1.ObjectNameField, f.name).String()
	informer := informers.NewFilteredRolloutInformer(f.client, f.namespace, 0, nil, func(o *metav1.ListOptions) { o.FieldSelector = only })
	last := seen.ResourceVersion
	gone := apierrors.NewNotFound(v1alpha1.SchemeGroupVersion.WithResource("rollouts").GroupResource(), f.name)
	send := func(object any) {
		rollout, ok := object.(*v1alpha1.Rollout)
		if !ok {
			return
		}
		if rollout.UID != seen.UID {
			stop(fmt.Errorf("rollout %s was deleted and made anew", f.name))
			return
		}
		// The first list may be answered by a replica that lags behind: what was reached before the last verb is not reached after it.
		if older, err := resourceversion.CompareResourceVersion(rollout.ResourceVersion, last); err == nil && older < 0 {
			return
		}
		last = rollout.ResourceVersion
		select {
		case changes <- rollout:
		case <-ctx.Done():
		}
	}
	if err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		if apierrors.IsForbidden(err) {
			stop(err)
		}
		f.lost(err)
	}); err != nil {
		return nil, err
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    send,
		UpdateFunc: func(_, object any) { send(object) },
		DeleteFunc: func(any) { stop(gone) },
	}); err != nil {
		return nil, err
	}
	go informer.RunWithContext(ctx)
	go func() {
		// A rollout that was deleted before the first list is in none.
		if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) && len(informer.GetStore().ListKeys()) == 0 {
			stop(gone)
		}
	}()
	return changes, nil
}
