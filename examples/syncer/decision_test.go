package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha2"
)

// slice has clusters, given as name or namespace/name. An empty revision or count is left out.
func slice(index, revision, count string, clusters ...string) *v1alpha2.PlacementDecision {
	s := &v1alpha2.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Name: "app-" + index, Namespace: "fleet", Labels: map[string]string{}}}
	for key, value := range map[string]string{"multicluster.x-k8s.io/decision-index": index, "multicluster.x-k8s.io/decision-revision": revision} {
		if value != "" {
			s.Labels[key] = value
		}
	}
	if count != "" {
		s.Annotations = map[string]string{"binnacle.dev/decision-slices": count}
	}
	for _, cluster := range clusters {
		ref := v1alpha2.ClusterProfileReference{Name: &cluster}
		if namespace, name, found := strings.Cut(cluster, "/"); found {
			ref = v1alpha2.ClusterProfileReference{Namespace: &namespace, Name: &name}
		}
		s.Decisions = append(s.Decisions, v1alpha2.ClusterDecision{ClusterProfileRef: ref})
	}
	return s
}

func TestWhole(t *testing.T) {
	for name, test := range map[string]struct {
		slices []*v1alpha2.PlacementDecision
		want   string // the clusters, nothing where the decision is not whole
		why    string
	}{
		"nothing is left":                 {nil, "", ""},
		"one slice of a simple producer":  {[]*v1alpha2.PlacementDecision{slice("", "", "", "a", "other/a")}, "fleet/a other/a", ""},
		"named twice":                     {[]*v1alpha2.PlacementDecision{slice("0", "", "", "a", "b"), slice("1", "", "", "fleet/a")}, "fleet/a fleet/b", ""},
		"nobody is in":                    {[]*v1alpha2.PlacementDecision{slice("0", "3", "1")}, "", ""},
		"whole":                           {[]*v1alpha2.PlacementDecision{slice("0", "3", "2", "a"), slice("1", "3", "2", "b")}, "fleet/a fleet/b", ""},
		"a slice is still to come":        {[]*v1alpha2.PlacementDecision{slice("0", "3", "2", "a")}, "", "one of 2 slices"},
		"a slice is still to go":          {[]*v1alpha2.PlacementDecision{slice("0", "3", "1", "a"), slice("1", "3", "1", "b")}, "", "one of 1 slices"},
		"half of a change":                {[]*v1alpha2.PlacementDecision{slice("0", "4", "2", "a"), slice("1", "3", "2", "b")}, "", "of \"3\""},
		"half of a change, without count": {[]*v1alpha2.PlacementDecision{slice("0", "4", "", "a"), slice("1", "3", "", "b")}, "", "of \"3\""},
		"one of another producer":         {[]*v1alpha2.PlacementDecision{slice("0", "4", "2", "a"), slice("1", "", "", "b")}, "", "of \"\""},
		"two of one index":                {[]*v1alpha2.PlacementDecision{slice("0", "4", "2", "a"), slice("0", "4", "2", "b")}, "", "two slices"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := whole(test.slices)
			if (err != nil) != (test.why != "") || err != nil && !strings.Contains(err.Error(), test.why) {
				t.Fatalf("%v, want %q", err, test.why)
			}
			if err != nil {
				return
			}
			names := slices.Collect(maps.Keys(d.clusters))
			var got []string
			for _, name := range names {
				got = append(got, name.String())
			}
			slices.Sort(got)
			if strings.Join(got, " ") != test.want {
				t.Errorf("in are %q, want %q", got, test.want)
			}
		})
	}
}

func TestRolloutOf(t *testing.T) {
	for _, test := range []struct{ apiVersion, kind, want string }{
		{"binnacle.dev/v1alpha1", "Rollout", "r"}, {"argoproj.io/v1alpha1", "Rollout", ""}, {"binnacle.dev/v1alpha1", "Other", ""},
	} {
		s := slice("0", "1", "1")
		s.OwnerReferences = []metav1.OwnerReference{{APIVersion: test.apiVersion, Kind: test.kind, Name: "r", Controller: ptr.To(true)}}
		if got := rolloutOf(s); got.name != test.want {
			t.Errorf("%s %s: %v, want %q", test.apiVersion, test.kind, got, test.want)
		}
	}
	if d, err := whole([]*v1alpha2.PlacementDecision{slice("0", "7", "1", "a")}); err != nil || d.revision != "7" || d.rollout.name != "" || !d.clusters.Has(cache.NewObjectName("fleet", "a")) {
		t.Errorf("%+v, %v", d, err)
	}
}
