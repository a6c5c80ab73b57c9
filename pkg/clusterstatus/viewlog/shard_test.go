package viewlog

import (
	"testing"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/storage"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
)

// TestShards: with the feature on, two shards of the hash of the UID share all objects between them, by list and by watch.
func TestShards(t *testing.T) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.ShardedListAndWatch, true)
	f := newFixture(t, wide)
	objects := numbered("ns", 100, "Ready")
	for _, o := range objects {
		o.UID = types.UID(o.Name + " has a uid of its own")
	}
	f.reset(10, objects...)
	total := 0
	for _, half := range [][2]string{{"0x0000000000000000", "0x8000000000000000"}, {"0x8000000000000000", "0x10000000000000000"}} {
		selector := sharding.NewSelector(sharding.ShardRangeRequirement{Key: "object.metadata.uid", Start: half[0], End: half[1]})
		o := options("0", initialEvents(true), bookmarks, func(o *storage.ListOptions) { o.Predicate.ShardSelector = selector })
		list := f.mustList(testPrefix, o)
		w, watched := f.watch(t.Context(), testPrefix, o), 0
		for e := range w.ResultChan() {
			if _, ok := e.Object.(apiruntime.CacheableObject); !ok {
				break
			}
			watched++
		}
		if list.ShardInfo == nil || list.ShardInfo.Selector != selector.String() {
			t.Errorf("the list does not say which shard it is: %v", list.ShardInfo)
		}
		if watched != len(list.Items) || watched == 0 || watched == 100 {
			t.Errorf("%s: %d by watch, %d by list", half, watched, len(list.Items))
		}
		total += watched
	}
	if total != 100 {
		t.Errorf("%d in both", total)
	}
}
