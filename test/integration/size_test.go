package integration

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestObjectSizes accepts what etcd can hold, and refuses the rest with 413 and both sizes, by every way to write (cases.md, 50).
func TestObjectSizes(t *testing.T) {
	c := newCaller(t, hub.AdminConfig(), ours, newNamespace(t), "v1alpha2")
	named := func(n int) string { return strings.Repeat("x", n) }
	spec := func(n int) string {
		return fmt.Sprintf(`,"spec":{"displayName":%q,"clusterManager":{"name":"m"}}`, named(n))
	}
	decision := func(n int) string {
		return fmt.Sprintf(`,"decisions":[{"clusterProfileRef":{"name":"c"},"reason":%q}]`, named(n))
	}
	for _, size := range []int{50_000, 500_000, 1_400_000, 1_560_000, 1_600_000, 3_100_000, 3_300_000} {
		want := http.StatusCreated
		if size > 1_570_000 {
			want = http.StatusRequestEntityTooLarge
		}
		for _, r := range []request{
			post("clusterprofiles", profileNamed(fmt.Sprint("s", size), spec(size))),
			post("placementdecisions", decisionNamed(fmt.Sprint("s", size), decision(size))),
			applyAs("m", fmt.Sprint("clusterprofiles/a", size), profileNamed(fmt.Sprint("a", size), spec(size))),
		} {
			a := c.do(r)
			if a.code != want {
				t.Errorf("%s of %d bytes: %d %s", r.method, size, a.code, shorten(string(a.raw)))
			}
			if text := string(a.raw); strings.Contains(text, "etcdserver") || strings.Contains(text, "rpc error") {
				t.Errorf("%s of %d bytes answers in the words of etcd: %s", r.method, size, shorten(text))
			}
			if a.code == http.StatusRequestEntityTooLarge && size < 3_100_000 && !(strings.Contains(a.status.Message, "1572864 bytes") && strings.Contains(a.status.Message, fmt.Sprint(size)[:3])) {
				t.Errorf("%s of %d bytes does not say both sizes: %s", r.method, size, shorten(a.status.Message))
			}
		}
	}
	// An object does not grow past the limit either.
	c.must(post("clusterprofiles", profileNamed("grows", managed)))
	for _, r := range []request{
		patch("clusterprofiles/grows", fmt.Sprintf(`{"spec":{"displayName":%q}}`, named(1_600_000))),
		patchStatus("grows", fmt.Sprintf(`{"version":{"kubernetes":%q}}`, named(1_600_000))),
	} {
		if a := c.do(r); a.code != http.StatusRequestEntityTooLarge || strings.Contains(string(a.raw), "etcdserver") {
			t.Errorf("%s: %d %s", r.path, a.code, shorten(string(a.raw)))
		}
	}
	if after := c.must(get("clusterprofiles/grows")); after.generationOf() != float64(1) {
		t.Errorf("a refused write changed the object: %v", after.field("metadata"))
	}
}
