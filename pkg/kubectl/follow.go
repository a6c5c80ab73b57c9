package kubectl

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned"
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
	changes, lost := make(chan *v1alpha1.Rollout), make(chan error)
	if err := f.watch(ctx, stop, rollout, changes, lost); err != nil {
		return err
	}
	clock := time.NewTicker(pace)
	defer clock.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-lost:
			f.lost(err)
			continue
		case rollout = <-changes:
		case <-clock.C:
		}
		if done, err := f.see(rollout); done || err != nil {
			return err
		}
	}
}

// watch sends what the rollout changes to. It stops the context where it cannot go on.
func (f *follower) watch(ctx context.Context, stop context.CancelCauseFunc, seen *v1alpha1.Rollout, changes chan<- *v1alpha1.Rollout, lost chan<- error) error {
	informer := cache.NewSharedInformer(f.listWatch(stop, lost), &v1alpha1.Rollout{}, 0)
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
	// What it would log is told by listWatch.
	if err := informer.SetWatchErrorHandlerWithContext(func(context.Context, *cache.Reflector, error) {}); err != nil {
		return err
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    send,
		UpdateFunc: func(_, object any) { send(object) },
		DeleteFunc: func(any) { stop(gone) },
	}); err != nil {
		return err
	}
	go informer.RunWithContext(ctx)
	go func() {
		// A rollout that was deleted before the first list is in none.
		if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) && len(informer.GetStore().ListKeys()) == 0 {
			stop(gone)
		}
	}()
	return nil
}

// listWatch lists and watches the one rollout. The first failure after a success is told; without the right to it there is no going on.
func (f *follower) listWatch(stop context.CancelCauseFunc, lost chan<- error) cache.ListerWatcher {
	rollouts, down := f.client.BinnacleV1alpha1().Rollouts(f.namespace), false
	only := fields.OneTermEqualSelector(metav1.ObjectNameField, f.name).String()
	note := func(ctx context.Context, err error) {
		if apierrors.IsForbidden(err) {
			stop(err)
		}
		// A version that is gone after a long outage is listed anew, and nobody needs to know.
		told := down || err == nil || apierrors.IsResourceExpired(err)
		if down = err != nil; told {
			return
		}
		select {
		case lost <- err:
		case <-ctx.Done():
		}
	}
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = only
			list, err := rollouts.List(ctx, o)
			note(ctx, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = only
			w, err := rollouts.Watch(ctx, o)
			note(ctx, err)
			return w, err
		},
	}, f.client)
}
