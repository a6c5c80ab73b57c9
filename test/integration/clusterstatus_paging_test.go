package integration

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// testStatusPaging joins pages while others write: they are the list as it was at the first page. What is no token of this list is
// refused (cases.md, 37).
func testStatusPaging(t *testing.T, f fleet) {
	labelled := func(i int) string {
		name := fmt.Sprintf("c%02d", i)
		return strings.Replace(profileNamed(name, managed), `"name":"`+name+`"`, fmt.Sprintf(`"name":%q,"labels":{"seventh":"%t"}`, name, i%7 == 0), 1)
	}
	f.addMany(35, labelled)
	for _, selector := range []string{"", "&labelSelector=seventh%3Dtrue", "&fieldSelector=status.phase%3DUnknown"} {
		want := f.names(strings.TrimPrefix(selector, "&"))
		var names []string
		var versions []any
		token := ""
		for page := 0; page == 0 || token != ""; page++ {
			a := f.statuses.must(get("clusterstatuses?limit=3" + selector + "&continue=" + token))
			names, versions = append(names, namesOf(a)...), append(versions, a.versionOf())
			if remaining := a.field("metadata", "remainingItemCount"); selector != "" && remaining != nil {
				t.Errorf("remainingItemCount with a selector: %v", remaining)
			} else if want := 35 - len(names); selector == "" && want > 0 && remaining != float64(want) {
				t.Errorf("remainingItemCount %v, want %d", remaining, want)
			}
			token, _ = a.field("metadata", "continue").(string)
			// In front of what was listed, behind it, and in it.
			f.add(fmt.Sprintf("a%02d%02d", len(selector), page), fmt.Sprintf("z%02d%02d", len(selector), page))
			f.profiles.must(patch(fmt.Sprintf("clusterprofiles/c%02d", page), fmt.Sprintf(`{"metadata":{"labels":{"page":"p%d-%d"}}}`, page, len(selector))))
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("%q (-list +pages):\n%s", selector, diff)
		}
		if len(slices.Compact(versions)) != 1 {
			t.Errorf("%q: the pages are of %v", selector, versions)
		}
		for _, name := range f.names("") {
			if name[0] != 'c' {
				f.profiles.must(request{method: http.MethodDelete, path: "clusterprofiles/" + name})
			}
		}
	}
	token := f.statuses.must(get("clusterstatuses?limit=3")).field("metadata", "continue").(string)
	foreign := f.profiles.must(get("clusterprofiles?limit=3")).field("metadata", "continue").(string)
	for _, query := range []string{"continue=nonsense", "resourceVersion=1&continue=" + token, "resourceVersionMatch=Exact&continue=" + token} {
		mine, theirs := f.statuses.do(get("clusterstatuses?limit=3&"+query)), f.profiles.do(get("clusterprofiles?limit=3&"+query))
		if mine.code != theirs.code || mine.code/100 != 4 {
			t.Errorf("%s: %d %s; of a kind in etcd: %d", query, mine.code, shorten(string(mine.raw)), theirs.code)
		}
	}
	// A token of a kind in etcd names a version from long before ours: it is refused as a wrong one or as one that has expired.
	if a := f.statuses.do(get("clusterstatuses?limit=3&continue=" + foreign)); a.code != http.StatusBadRequest && a.code != http.StatusGone {
		t.Errorf("a token of another kind: %d %s", a.code, shorten(string(a.raw)))
	}
	if a := f.profiles.do(get("clusterprofiles?limit=3&continue=" + token)); a.code < 400 {
		t.Errorf("our token on another kind: %d %s", a.code, shorten(string(a.raw)))
	}
}

// TestStatusTokenExpires goes on with a page after a restart, when the history does not reach back to it any more: 410, with a token that
// goes on from there with what there is now (cases.md, 37).
func TestStatusTokenExpires(t *testing.T) {
	t.Parallel()
	etcd, _ := externalEtcd(t)
	s := startStandalone(t, framework.ServerOptions{Etcd: etcd})
	f := newFleet(t, adminOf(t, s), "fleet")
	f.addMany(10, func(i int) string { return profileNamed(fmt.Sprintf("c%02d", i), managed) })
	first := f.statuses.must(get("clusterstatuses?limit=3"))
	token := first.field("metadata", "continue").(string)
	f.profiles.must(request{method: http.MethodDelete, path: "clusterprofiles/c05"})
	f.add("c07a")
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	expired := f.statuses.do(get("clusterstatuses?limit=100&continue=" + token))
	fresh, _ := expired.field("metadata", "continue").(string)
	if expired.code != http.StatusGone || expired.status.Reason != "Expired" || fresh == "" {
		t.Fatalf("%d %s", expired.code, expired.raw)
	}
	rest := f.statuses.must(get("clusterstatuses?limit=100&continue=" + fresh))
	if got := fmt.Sprint(namesOf(rest)); got != "[c03 c04 c06 c07 c07a c08 c09]" {
		t.Errorf("the rest is %s", got)
	}
	// A list and a watch of that time are gone too, and say so at once.
	old := fmt.Sprint(first.versionOf())
	if a := f.statuses.do(get("clusterstatuses?resourceVersionMatch=Exact&resourceVersion=" + old)); a.code != http.StatusGone || a.status.Reason != "Expired" {
		t.Errorf("a list of then: %d %s", a.code, shorten(string(a.raw)))
	}
	events, _ := f.statuses.watch("resourceVersion="+old, "clusterstatuses")
	if e := next(t, events); e.Type != "ERROR" || e.Object["code"] != float64(http.StatusGone) || e.Object["reason"] != "Expired" {
		t.Errorf("a watch from then: %v", e)
	}
	if _, open := <-events; open {
		t.Error("the watch goes on after its error")
	}
}
