package integration

import (
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// TestRestartOfEverything restarts the hub's API server, its controllers and us at once, us last and slowly, and wants the garbage
// collector to take nothing whose owner lives: while we are away it cannot know (cases.md, 12).
func TestRestartOfEverything(t *testing.T) {
	t.Parallel() // It mostly waits.
	ctx := t.Context()
	own := startOwnHub(t, framework.HubOptions{}, 2)
	y := newYard(t, own.AdminConfig(), own.namespace(t, "inventory"))
	warm(t, y)
	var owners, maps []object
	for i := range 10 {
		for _, kind := range ownables[1:] {
			owner := y.add(kind, fmt.Sprint("owner-", i), nil)
			owners = append(owners, owner)
			maps = append(maps, y.add(ownables[0], fmt.Sprint(kind.resource.Resource, "-", i), nil, owner.owned(true)))
		}
	}
	// The collector cannot watch who owns this one: it asks us, who are not there.
	statuses := newFleet(t, own.AdminConfig(), y.namespace)
	byStatus := statuses.ownedByStatus(y, owners[2].name)
	statusUID := statuses.status(owners[2].name).field("metadata", "uid")

	var errs []error
	for _, s := range own.replicas {
		errs = append(errs, s.Stop())
	}
	errs = append(errs, own.ControllerManager.Kill(), own.APIServer.Kill(), own.StartAPIServer(ctx), own.StartControllerManager(ctx))
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	// So long the collector works without us: this is the slowness that is tested, and nothing is waited for.
	<-time.After(10 * time.Second)
	for _, s := range own.replicas {
		if err := s.Start(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := own.Registered(ctx); err != nil {
		t.Fatal(err)
	}

	t.Run("identities", func(t *testing.T) {
		configs := map[string]yard{"hub": y}
		for i, s := range own.replicas {
			configs[fmt.Sprint("replica ", i)] = newYard(t, s.ConfigFor("admin", framework.AdminGroup), y.namespace)
		}
		for where, y := range configs {
			for _, o := range owners {
				o.yard = y
				o.t = t
				if o.isGone() {
					t.Errorf("%s: %s/%s is not the one from before the restart", where, o.kind, o.name)
				}
			}
		}
	})

	// The collector works on our kinds again, and has had the time to do wrong, when it has collected what follows.
	owners[0].delete(metav1.DeletePropagationBackground)
	owners[1].delete(metav1.DeletePropagationBackground)
	again := y.add(owners[1].ownable, owners[1].name, nil)
	kept := y.add(ownables[0], "of-the-new-one", nil, again.owned(true))
	within(t, collected, "what the deleted owned to be collected", maps[0].isGone)
	within(t, collected, "what the former one of a name owned to be collected", maps[1].isGone)
	for i, s := range own.replicas {
		if got := newFleet(t, s.ConfigFor("admin", framework.AdminGroup), y.namespace).status(owners[2].name).field("metadata", "uid"); got != statusUID {
			t.Errorf("replica %d: the ClusterStatus had the uid %v before the restart and has %v", i, statusUID, got)
		}
	}
	for _, o := range append(maps[2:], kept, again, byStatus) {
		if o.isGone() || o.isGoing() {
			t.Errorf("%s %s was collected; its owner lives", o.kind, o.name)
		}
	}
}
