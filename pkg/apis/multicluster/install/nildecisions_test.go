package install

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha2"
)

// TestEmptyDecisionsAreNotMissing keeps a decision for nothing apart from no decision, in every encoding and every conversion.
func TestEmptyDecisionsAreNotMissing(t *testing.T) {
	name := "atlas"
	tests := []struct {
		name               string
		v1alpha1, v1alpha2 runtime.Object
		internal           runtime.Object
	}{{
		name:     "missing",
		v1alpha1: &v1alpha1.PlacementDecision{},
		v1alpha2: &v1alpha2.PlacementDecision{},
		internal: &multicluster.PlacementDecision{},
	}, {
		name:     "empty",
		v1alpha1: &v1alpha1.PlacementDecision{Decisions: v1alpha1.ClusterDecisions{}},
		v1alpha2: &v1alpha2.PlacementDecision{Decisions: v1alpha2.ClusterDecisions{}},
		internal: &multicluster.PlacementDecision{Decisions: multicluster.ClusterDecisions{}},
	}, {
		name:     "one of a zero value",
		v1alpha1: &v1alpha1.PlacementDecision{Decisions: v1alpha1.ClusterDecisions{{}}},
		v1alpha2: &v1alpha2.PlacementDecision{Decisions: v1alpha2.ClusterDecisions{{}}},
		internal: &multicluster.PlacementDecision{Decisions: multicluster.ClusterDecisions{{}}},
	}, {
		name:     "one",
		v1alpha1: &v1alpha1.PlacementDecision{Decisions: v1alpha1.ClusterDecisions{{ClusterProfileRef: v1alpha1.ClusterProfileReference{Name: &name}}}},
		v1alpha2: &v1alpha2.PlacementDecision{Decisions: v1alpha2.ClusterDecisions{{ClusterProfileRef: v1alpha2.ClusterProfileReference{Name: &name}}}},
		internal: &multicluster.PlacementDecision{Decisions: multicluster.ClusterDecisions{{ClusterProfileRef: multicluster.ClusterProfileReference{Name: &name}}}},
	}}
	scheme := newScheme()
	for _, test := range tests {
		for _, versioned := range []runtime.Object{test.v1alpha1, test.v1alpha2} {
			gvks, _, err := scheme.ObjectKinds(versioned)
			if err != nil {
				t.Fatal(err)
			}
			version := gvks[0].GroupVersion()
			t.Run(test.name+"/"+version.Version+"/conversion", func(t *testing.T) {
				internal := convert(t, scheme, versioned, multicluster.SchemeGroupVersion)
				if diff := cmp.Diff(test.internal, internal); diff != "" {
					t.Errorf("internal (-want +got):\n%s", diff)
				}
				want := versioned.DeepCopyObject()
				want.GetObjectKind().SetGroupVersionKind(gvks[0])
				if diff := cmp.Diff(want, convert(t, scheme, internal, version)); diff != "" {
					t.Errorf("back (-want +got):\n%s", diff)
				}
			})
			for encoding, codec := range serializers(scheme) {
				t.Run(test.name+"/"+version.Version+"/"+encoding, func(t *testing.T) {
					want := versioned.DeepCopyObject()
					want.GetObjectKind().SetGroupVersionKind(gvks[0])
					var wire bytes.Buffer
					if err := codec.Encode(want, &wire); err != nil {
						t.Fatal(err)
					}
					got, _, err := codec.Decode(wire.Bytes(), nil, nil)
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("changed on the way (-before +after):\n%s", diff)
					}
				})
			}
		}
	}
}
