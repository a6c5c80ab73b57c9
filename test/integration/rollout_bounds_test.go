package integration

import (
	"fmt"
	"slices"
	"time"

	binnacleapi "github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	multiclusterv1alpha1 "github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
	"github.com/binnacle-dev/binnacle/test/framework"
)

const (
	// advancePatience is in what time an advance is answered that lets ten thousand clusters in, with etcd in the process.
	advancePatience = 2 * time.Second
	// repairPatience is how soon after a restart the slices are what the status says, however many.
	repairPatience = 5 * time.Second
	// boundTries is how often a bound is tried: others use the machine too, and the quickest try counts.
	boundTries = 4
)

// wantQuickAdvance lets all clusters of the namespace in at once.
func (d decider) wantQuickAdvance() {
	d.t.Helper()
	best := time.Hour
	for i := 0; i < boundTries && best > advancePatience; i++ {
		name := fmt.Sprint("whole-", i)
		d.create(d.plan(name, 100))
		began := time.Now()
		status := d.must(name, binnacleapi.VerbAdvance)
		best = min(best, time.Since(began))
		if found := published(d.slices(name)); len(found) != largeTargets || status.Counts.In != largeTargets {
			d.t.Errorf("%d are published, and %d are through", len(found), status.Counts.In)
		}
		d.t.Logf("%d at once: %s", largeTargets, time.Since(began).Round(time.Millisecond))
	}
	if best > advancePatience {
		d.t.Errorf("no advance was answered in %s, the quickest took %s", advancePatience, best)
	}
}

// wantQuickRepair kills the server while it writes the slices of all clusters of the namespace, until it was killed in the middle and the slices
// were repaired in time.
func (d decider) wantQuickRepair(s *framework.Server) {
	d.t.Helper()
	best := time.Hour
	for i := 0; i < boundTries && best > repairPatience; i++ {
		name := fmt.Sprint("cut-", i)
		d.create(d.plan(name, 100))
		over := make(chan error, 1)
		go func() { _, err := d.try(name, binnacleapi.VerbAdvance, v1alpha1.RolloutActionSpec{}); over <- err }()
		within(d.t, viewPatience, "the first slice", func() bool { return len(d.slices(name)) > 0 })
		if err := s.Kill(); err != nil {
			d.t.Fatal(err)
		}
		cut := <-over != nil
		if err := s.Start(d.t.Context()); err != nil {
			d.t.Fatal(err)
		}
		back, left := time.Now(), largeTargets-len(published(d.slices(name)))
		within(d.t, viewPatience, "all to be published", func() bool {
			found := d.slices(name)
			return len(published(found)) == largeTargets && !slices.ContainsFunc(found, func(slice multiclusterv1alpha1.PlacementDecision) bool {
				return slice.Annotations[v1alpha1.AnnotationDecisionSlices] != fmt.Sprint(len(found))
			})
		})
		d.t.Logf("%d of %d were missing when the server was ready, repaired after %s", left, largeTargets, time.Since(back).Round(time.Millisecond))
		if cut {
			best = min(best, time.Since(back))
		}
		d.wantPublished(name)
	}
	if best > repairPatience {
		d.t.Errorf("no restart repaired the slices in %s, the quickest in %s (an hour: never killed in the middle)", repairPatience, best)
	}
}
