package viewlog

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/storage"
)

// TestWatchTransitions: what a change is for who selects the object before it, after it, both or never. Who no longer selects it gets the old
// content with the resourceVersion of the change.
func TestWatchTransitions(t *testing.T) {
	for name, tc := range map[string]struct {
		selects func(*storage.ListOptions)
		want    []string
	}{
		"by field": {selecting("", "status.phase=Ready"), []string{
			"DELETED ns/a Ready " + rv(11, 1), "ADDED ns/b Ready " + rv(11, 2), "MODIFIED ns/c Ready " + rv(11, 3), "DELETED ns/e Ready " + rv(11, 5),
			"ADDED ns/g Ready " + rv(11, 7),
		}},
		"by label": {selecting("ring=one", ""), []string{
			"DELETED ns/c Ready " + rv(11, 3), "ADDED ns/d NotReady " + rv(11, 4), "DELETED ns/e Ready " + rv(11, 5),
		}},
		"by both":        {selecting("ring=one", "status.phase=Ready"), []string{"DELETED ns/c Ready " + rv(11, 3), "DELETED ns/e Ready " + rv(11, 5)}},
		"what never was": {selecting("ring=three", ""), nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, wide)
			f.reset(10, object("ns/a", "Ready"), object("ns/b", "NotReady"), object("ns/c", "Ready", "ring", "one"), object("ns/d", "NotReady"),
				object("ns/e", "Ready", "ring", "one"), object("ns/f", "NotReady"))
			w := f.watch(t.Context(), testPrefix, options(rv(10, 0), tc.selects))
			f.append(11, changed("ns/a", "NotReady"), changed("ns/b", "Ready"), changed("ns/c", "Ready"), changed("ns/d", "NotReady", "ring", "one"),
				Change{Key: "ns/e"}, Change{Key: "ns/f"}, changed("ns/g", "Ready"))
			f.append(12, changed("ns/end", "Ready", "ring", "one"), changed("ns/end3", "Ready", "ring", "three"))
			got := w.take(len(tc.want) + 1)
			if diff := cmp.Diff(tc.want, got[:len(tc.want):len(tc.want)], cmp.Transformer("none", func(s []string) []string {
				return append([]string{}, s...)
			})); diff != "" {
				t.Error(diff)
			}
			if end := got[len(tc.want)]; end != "ADDED ns/end Ready "+rv(12, 1) && end != "ADDED ns/end3 Ready "+rv(12, 2) {
				t.Errorf("one event too many: %s", end)
			}
		})
	}
}
