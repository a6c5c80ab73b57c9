package viewlog

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestReplicas: two replicas that are fed the same say the same at each resourceVersion, though one was started in the middle. A client may
// list from one and watch from the other.
func TestReplicas(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	m, old, young := &model{}, newFixture(t, wide), newFixture(t, wide)
	load(old, m, 1, map[string]value{})
	for revision := int64(2); revision < 60; revision++ {
		records, changes := randomRevision(m, random, revision)
		m.add(false, records...)
		old.append(revision, changes...)
		if revision == 20 {
			young.reset(20, objectsOf(m.at(Marker(20)))...)
		} else if revision > 20 {
			copied := make([]Change, len(changes))
			for i, c := range changes {
				if copied[i].Key = c.Key; c.Object != nil {
					copied[i].Object = c.Object.DeepCopy()
				}
			}
			young.append(revision, copied...)
		}
	}
	for range 200 {
		at := m.any(random.IntN(1000))
		if at < Marker(20) {
			continue
		}
		o := options(format(at), matching(metav1.ResourceVersionMatchExact))
		if diff := cmp.Diff(valuesOf(old.mustList(testPrefix, o)), valuesOf(young.mustList(testPrefix, o)), cmp.AllowUnexported(value{})); diff != "" {
			t.Fatalf("at %d: %s", at, diff)
		}
	}
	// What was listed from the old one at the young one's load is accepted by it.
	for _, at := range []string{rv(20, 0), rv(40, 1), rv(58, 0)} {
		from, to := old.watch(t.Context(), testPrefix, options(at)), young.watch(t.Context(), testPrefix, options(at))
		for n := 0; ; n++ {
			a, b := from.next(), to.next()
			if a != b {
				t.Fatalf("after %s, event %d: %s, %s", at, n, a, b)
			}
			var typ, key, phase, last string
			if _, err := fmt.Sscanf(a, "%s %s %s %s", &typ, &key, &phase, &last); err != nil || last == format(m.any(0)) {
				break
			}
		}
	}
}
