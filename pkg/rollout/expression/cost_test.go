package expression_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/rollout/expression"
)

// withProperties is a cluster with many properties.
func withProperties(name string, n int) cluster {
	c := newCluster(name, 8)
	for i := range n {
		c.status.Status.Properties = append(c.status.Status.Properties, binnacle.SourcedProperty{Name: fmt.Sprintf("property-%04d", i), Value: strings.Repeat("v", 1000)})
	}
	return c
}

// everyPair goes through the properties twice, at a cost that is estimated from a thousand of them.
const everyPair = `status.status.properties.all(a, profile.metadata.labels.all(k, k != a.value.lowerAscii()))`

// TestClusterCost reports a cluster that alone costs too much, and goes on with the others.
func TestClusterCost(t *testing.T) {
	const text = `status.status.properties.all(a, a.value.matches("^v*$") || a.value.size() < 10)`
	fleet := compile(t, text).Fleet()
	for _, c := range []struct {
		cluster cluster
		want    bool
	}{{withProperties("huge", 1000), false}, {newCluster("small", 8), true}} {
		if got, err := fleet.Takes(t.Context(), c.cluster.profile, c.cluster.status); err != nil || got != c.want {
			t.Errorf("%s: %v, %v", c.cluster.profile.Name, got, err)
		}
	}
	if failed, message := fleet.Failures(); failed != 1 || !strings.Contains(message, "fleet/huge (") || !strings.Contains(message, "cost limit exceeded") {
		t.Errorf("%d failures: %s", failed, message)
	}
}

// TestFleetCost ends a selection whose clusters together cost too much, and none before.
func TestFleetCost(t *testing.T) {
	program := compile(t, `status.status.properties.all(a, a.value.lowerAscii() != "x")`)
	c := withProperties("a", 500)
	fleet := program.Fleet()
	asked := 0
	var err error
	for ; err == nil && asked < 20_000; asked++ {
		_, err = fleet.Takes(t.Context(), c.profile, c.status)
	}
	var budget *expression.BudgetError
	if !errors.As(err, &budget) || budget.Clusters != asked-1 || !strings.Contains(err.Error(), "spec.targets.selector.expression used up") || !strings.Contains(err.Error(), "select by labels") {
		t.Fatalf("after %d: %v", asked, err)
	}
	if failed, message := fleet.Failures(); failed != 0 {
		t.Error(message)
	}
	// Another selection has a budget of its own.
	if taken, err := program.Fleet().Takes(t.Context(), c.profile, c.status); err != nil || !taken {
		t.Error(taken, err)
	}
}

// TestOrdinaryFleetIsWithinCost evaluates what the documentation shows, for ten thousand clusters.
func TestOrdinaryFleetIsWithinCost(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	c := withProperties("a", 30)
	for _, text := range examples {
		fleet := compile(t, text).Fleet()
		for range 10_000 {
			if _, err := fleet.Takes(t.Context(), c.profile, c.status); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
		if failed, message := fleet.Failures(); failed != 0 {
			t.Errorf("%s: %s", text, message)
		}
	}
}

// TestEstimate wants an estimate that allows what is ordinary, and refuses what goes through a list within a list.
func TestEstimate(t *testing.T) {
	compiler := newCompiler(t)
	for _, text := range examples {
		if errs := compiler.Check(field.NewPath("e"), text); len(errs) != 0 {
			t.Errorf("%s: %v", text, errs)
		}
	}
	if errs := compiler.Check(field.NewPath("e"), everyPair); len(errs) != 1 || !strings.Contains(errs[0].Detail, "times what is allowed") {
		t.Errorf("%s: %v", everyPair, errs)
	}
}

// TestContextEnds wants no answer once nobody waits for it.
func TestContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	c := newCluster("a", 8)
	fleet := compile(t, "true").Fleet()
	if taken, err := fleet.Takes(ctx, c.profile, c.status); !taken || err != nil {
		t.Fatal(taken, err)
	}
	cancel(nil)
	if taken, err := fleet.Takes(ctx, c.profile, c.status); taken || !errors.Is(err, context.Canceled) {
		t.Error(taken, err)
	}
	if failed, message := fleet.Failures(); failed != 0 {
		t.Error(message)
	}
}
