package viewlog

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestPagesAreOneSnapshot: all pages of a list are of one resourceVersion, whatever is written between them.
func TestPagesAreOneSnapshot(t *testing.T) {
	f := newFixture(t, wide)
	f.reset(10, append(numbered("a", 100, "old"), numbered("b", 1203, "old")...)...)
	var token, at string
	found, revision := map[string]string{}, int64(10)
	for remaining := int64(1203); ; {
		list := f.mustList(testPrefix+"/b", options("", limited(100, token)))
		if at == "" {
			at = list.ResourceVersion
		}
		for key, phase := range contents(list) {
			found[key] = phase
		}
		remaining -= int64(len(list.Items))
		if list.ResourceVersion != at || (list.RemainingItemCount != nil) != (remaining > 0) ||
			(list.RemainingItemCount != nil && *list.RemainingItemCount != remaining) {
			t.Fatalf("resourceVersion %s, want %s; remaining %v, want %d", list.ResourceVersion, at, list.RemainingItemCount, remaining)
		}
		if token = list.Continue; token == "" {
			break
		}
		revision++
		f.append(revision, changed(fmt.Sprintf("b/c%05d", 1200-revision), "new"), changed(fmt.Sprintf("b/d%05d", revision), "new"),
			Change{Key: fmt.Sprintf("b/c%05d", 1100-revision)})
	}
	if len(found) != 1203 {
		t.Errorf("%d objects", len(found))
	}
	for key, phase := range found {
		if phase != "old" {
			t.Errorf("%s is %s", key, phase)
		}
	}
	if f.barriers.Load() != 1 {
		t.Errorf("%d barriers: only the first page needs one", f.barriers.Load())
	}
}

// TestPagesWithSelector: no count of what remains, no page too many, and nothing missing.
func TestPagesWithSelector(t *testing.T) {
	f := newFixture(t, wide)
	objects := numbered("ns", 30, "Ready")
	for i, o := range objects {
		if i%3 == 0 {
			metav1.SetMetaDataLabel(&o.ObjectMeta, "ring", "one")
		}
	}
	f.reset(10, objects...)
	token, found := "", 0
	for page := 1; ; page++ {
		list := f.mustList(testPrefix, options("", selecting("ring=one", ""), limited(5, token)))
		found += len(list.Items)
		if list.RemainingItemCount != nil {
			t.Errorf("page %d says that %d remain", page, *list.RemainingItemCount)
		}
		if token = list.Continue; token == "" {
			if page != 2 {
				t.Errorf("%d pages", page)
			}
			break
		}
	}
	if found != 10 {
		t.Errorf("%d objects", found)
	}
}

// TestAnyStateHasNoPages: as from a cache, whoever takes any state gets all of it.
func TestAnyStateHasNoPages(t *testing.T) {
	f := newFixture(t, wide)
	f.reset(10, numbered("ns", 30, "Ready")...)
	if list := f.mustList(testPrefix, options("0", limited(5, ""))); len(list.Items) != 30 || list.Continue != "" {
		t.Errorf("%d objects, token %q", len(list.Items), list.Continue)
	}
}

// TestExpiredToken: the answer has a token to go on with, from the same key, in what there is now.
func TestExpiredToken(t *testing.T) {
	for name, expire := range map[string]func(*fixture){
		"the history is cut": func(f *fixture) {
			for revision := int64(12); revision < 40; revision++ {
				f.append(revision, changed("ns/c00009", fmt.Sprint(revision)))
			}
		},
		"the view is loaded anew": func(f *fixture) { f.reset(50, append(numbered("ns", 9, "new"), object("ns/c00009", "39"))...) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, Limits{Events: 10, Bytes: 1 << 30})
			f.reset(11, numbered("ns", 10, "old")...)
			first := f.mustList(testPrefix, options("", limited(8, "")))
			expire(f)
			_, err := f.list(testPrefix, options("", limited(8, first.Continue)))
			if !apierrors.IsResourceExpired(err) {
				t.Fatalf("not expired: %v", err)
			}
			token := err.(apierrors.APIStatus).Status().ListMeta.Continue
			rest := f.mustList(testPrefix, options("", limited(8, token)))
			if diff := cmp.Diff([]string{"ns/c00008", "ns/c00009"}, keysOf(rest)); diff != "" || rest.ResourceVersion != format(f.log.Stats().Processed) {
				t.Errorf("at %s: %s", rest.ResourceVersion, diff)
			}
			if contents(rest)["ns/c00009"] != "39" {
				t.Error("the rest is not as it is now")
			}
		})
	}
}

// TestTokenOfAnotherReplica: a token of a replica that is ahead is waited for, and then means the same.
func TestTokenOfAnotherReplica(t *testing.T) {
	ahead, behind := newFixture(t, wide), newFixture(t, wide)
	for _, f := range []*fixture{ahead, behind} {
		f.reset(10, numbered("ns", 10, "old")...)
	}
	ahead.append(11, changed("ns/c00009", "new"))
	first := ahead.mustList(testPrefix, options("", limited(8, "")))
	appended := make(chan error, 1)
	go func() { appended <- behind.log.Append(11, []Change{changed("ns/c00009", "new")}) }()
	rest := behind.mustList(testPrefix, options("", limited(8, first.Continue)))
	if err := <-appended; err != nil {
		t.Fatal(err)
	}
	if rest.ResourceVersion != first.ResourceVersion || contents(rest)["ns/c00009"] != "new" {
		t.Errorf("at %s, want %s: %v", rest.ResourceVersion, first.ResourceVersion, contents(rest))
	}
}
