package placementdecision

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/install"
	"github.com/binnacle-dev/binnacle/pkg/registry/store"
)

var (
	testScheme = func() *runtime.Scheme {
		scheme := runtime.NewScheme()
		install.Install(scheme)
		return scheme
	}()
	rules        = strategy{store.NewStrategy(testScheme)}
	bothVersions = []string{"v1alpha1", "v1alpha2"}
)

func in(t *testing.T, version string) context.Context {
	t.Helper()
	return request.WithRequestInfo(request.WithNamespace(t.Context(), "fleet"), &request.RequestInfo{
		IsResourceRequest: true, APIGroup: multicluster.GroupName, APIVersion: version, Resource: "placementdecisions"})
}

func clusters(n int) multicluster.ClusterDecisions {
	list := multicluster.ClusterDecisions{}
	for i := range n {
		list = append(list, multicluster.ClusterDecision{ClusterProfileRef: multicluster.ClusterProfileReference{Name: ptr.To(fmt.Sprintf("store-%d", i))}})
	}
	return list
}

// stored is a decision as it comes from etcd.
func stored() *multicluster.PlacementDecision {
	return &multicluster.PlacementDecision{
		ObjectMeta: metav1.ObjectMeta{Name: "payments-0", Namespace: "fleet", UID: "uid", ResourceVersion: "7", Generation: 3, Labels: map[string]string{
			multicluster.DecisionKeyLabel: "payments", multicluster.DecisionIndexLabel: "0", multicluster.PlacementKeyLabel: "payments-api"}},
		Decisions:     clusters(2),
		SchedulerName: "fleet-scheduler",
	}
}

func invalid(t *testing.T, err error, field string) {
	t.Helper()
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), field+":") {
		t.Errorf("error %v, want Invalid for %s", err, field)
	}
}

func TestCreate(t *testing.T) {
	tests := []struct {
		name   string
		change func(*multicluster.PlacementDecision)
		// field is what is refused in each version, empty where the decision is accepted.
		v1alpha1, v1alpha2 string
	}{
		{name: "good", change: func(*multicluster.PlacementDecision) {}},
		{name: "generation sent by the client", change: func(d *multicluster.PlacementDecision) { d.Generation = 41 }},
		{name: "for nothing", change: func(d *multicluster.PlacementDecision) { d.Decisions = clusters(0) }},
		{name: "100", change: func(d *multicluster.PlacementDecision) { d.Decisions = clusters(100) }},
		{name: "101", change: func(d *multicluster.PlacementDecision) { d.Decisions = clusters(101) }, v1alpha1: "decisions", v1alpha2: "decisions"},
		{name: "missing", change: func(d *multicluster.PlacementDecision) { d.Decisions = nil }, v1alpha1: "decisions", v1alpha2: "decisions"},
		{name: "empty name", change: func(d *multicluster.PlacementDecision) { d.Decisions[0].ClusterProfileRef.Name = ptr.To("") },
			v1alpha2: "decisions[0].clusterProfileRef.name"},
		{name: "no name of its own", change: func(d *multicluster.PlacementDecision) { d.Name = "" }, v1alpha1: "metadata.name", v1alpha2: "metadata.name"},
		{name: "name in capitals", change: func(d *multicluster.PlacementDecision) { d.Name = "A" }, v1alpha1: "metadata.name", v1alpha2: "metadata.name"},
	}
	for _, test := range tests {
		for version, field := range map[string]string{"v1alpha1": test.v1alpha1, "v1alpha2": test.v1alpha2} {
			t.Run(test.name+"/"+version, func(t *testing.T) {
				decision := stored()
				decision.UID, decision.ResourceVersion, decision.Generation = "", "", 0
				test.change(decision)
				rest.FillObjectMetaSystemFields(decision)
				err := rest.BeforeCreate(rules, in(t, version), decision)
				if field != "" {
					invalid(t, err, field)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if decision.Generation != 1 {
					t.Errorf("generation %d, want 1", decision.Generation)
				}
			})
		}
	}
}

func TestUpdate(t *testing.T) {
	tests := []struct {
		name       string
		change     func(*multicluster.PlacementDecision)
		generation int64
	}{
		{"nothing", func(*multicluster.PlacementDecision) {}, 3},
		{"label", func(d *multicluster.PlacementDecision) { d.Labels = nil }, 3},
		{"generation sent by the client", func(d *multicluster.PlacementDecision) { d.Generation = 99 }, 3},
		{"scheduler", func(d *multicluster.PlacementDecision) { d.SchedulerName = "" }, 4},
		{"cluster added", func(d *multicluster.PlacementDecision) { d.Decisions = clusters(3) }, 4},
		{"emptied", func(d *multicluster.PlacementDecision) { d.Decisions = clusters(0) }, 4},
		{"order", func(d *multicluster.PlacementDecision) {
			d.Decisions[0], d.Decisions[1] = d.Decisions[1], d.Decisions[0]
		}, 4},
		{"reason", func(d *multicluster.PlacementDecision) { d.Decisions[1].Reason = "why not" }, 4},
		{"namespace", func(d *multicluster.PlacementDecision) { d.Decisions[1].ClusterProfileRef.Namespace = ptr.To("other") }, 4},
	}
	for _, test := range tests {
		for _, version := range bothVersions {
			t.Run(test.name+"/"+version, func(t *testing.T) {
				old, decision := stored(), stored()
				test.change(decision)
				want := decision.DeepCopy()
				want.Generation = test.generation
				if err := rest.BeforeUpdate(rules, in(t, version), decision, old); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, decision); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestUpdateIsRefused(t *testing.T) {
	tests := []struct {
		name   string
		change func(*multicluster.PlacementDecision)
		field  string
	}{
		{"decisions removed", func(d *multicluster.PlacementDecision) { d.Decisions = nil }, "decisions"},
		{"101", func(d *multicluster.PlacementDecision) { d.Decisions = clusters(101) }, "decisions"},
		{"no resourceVersion", func(d *multicluster.PlacementDecision) { d.ResourceVersion = "" }, "metadata.resourceVersion"},
		{"another UID", func(d *multicluster.PlacementDecision) { d.UID = "other" }, "metadata.uid"},
	}
	for _, test := range tests {
		for _, version := range bothVersions {
			t.Run(test.name+"/"+version, func(t *testing.T) {
				decision := stored()
				test.change(decision)
				invalid(t, rest.BeforeUpdate(rules, in(t, version), decision, stored()), test.field)
			})
		}
	}
}

// TestPolicies pins how the generic store treats writes of ours, where the wrong answer would lose updates.
func TestPolicies(t *testing.T) {
	ctx := in(t, "v1alpha1")
	if !rules.NamespaceScoped() || rules.AllowCreateOnUpdate(ctx) || rules.AllowUnconditionalUpdate(ctx) {
		t.Errorf("namespaced %v, create on update %v, unconditional update %v",
			rules.NamespaceScoped(), rules.AllowCreateOnUpdate(ctx), rules.AllowUnconditionalUpdate(ctx))
	}
}
