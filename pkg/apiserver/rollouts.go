package apiserver

import (
	"context"
	"os"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	rolloutcontroller "github.com/binnacle-dev/binnacle/pkg/controller/rollout"
	"github.com/binnacle-dev/binnacle/pkg/registry/binnacle/rollout"
)

const (
	// rolloutWorkers is how many rollouts are moved at once, by the replica that holds the lease.
	rolloutWorkers = 4
	// lastTick is how long the shutdown waits for what is being moved, and for the lease to be given back.
	lastTick = 5 * time.Second
)

// moveRollouts has rollouts moved by themselves while the server runs. Prefix is what all our keys in etcd begin with.
func moveRollouts(server *genericapiserver.GenericAPIServer, mover *rollout.Mover, client *clientv3.Client, prefix string) error {
	identity, err := os.Hostname()
	if err != nil {
		return err
	}
	loop := rolloutcontroller.New(rolloutcontroller.Config{
		Client: client, Prefix: prefix, Identity: identity, Rollouts: mover, Workers: rolloutWorkers, Clock: clock.RealClock{},
	})
	mover.OnWrite(loop.Enqueue)
	const name = "rollouts"
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan struct{})
	var running atomic.Bool
	if err := server.AddPostStartHook(name, func(hook genericapiserver.PostStartHookContext) error {
		context.AfterFunc(hook, stop)
		running.Store(true)
		go func() {
			defer close(over)
			loop.Run(ctx)
		}()
		return nil
	}); err != nil {
		stop()
		return err
	}
	// Before etcd ends, another replica is to have the lease at once.
	return server.AddPreShutdownHook(name, func() error {
		stop()
		if !running.Load() {
			return nil
		}
		select {
		case <-over:
		case <-time.After(lastTick):
			klog.InfoS("Rollouts are still being moved; the lease ends by itself")
		}
		return nil
	})
}
