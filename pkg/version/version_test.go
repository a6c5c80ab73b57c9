package version

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/version"
	baseversion "k8s.io/component-base/version"
)

func TestKubernetes(t *testing.T) {
	current, kubernetes := version.MustParse(Minor), version.MustParse(baseversion.DefaultKubeBinaryVersion)
	before := func(minors int) *version.Version { return kubernetes.OffsetMinor(-minors) }
	tests := []struct {
		name string
		own  *version.Version
		want *version.Version
	}{
		{"none", nil, kubernetes},
		{"current", current, kubernetes},
		{"current patch", version.MustParse(Minor + ".7"), kubernetes},
		{"next minor", current.OffsetMinor(1), kubernetes},
		{"next major", version.MajorMinor(current.Major()+1, 0), kubernetes},
		{"first of this major", version.MajorMinor(current.Major(), 0), before(int(current.Minor()))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Kubernetes(test.own); got == nil || !got.EqualTo(test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

// TestKubernetesIsTotal asks for every version that one may type, and some that one may not.
func TestKubernetesIsTotal(t *testing.T) {
	newest := version.MustParse(baseversion.DefaultKubeBinaryVersion)
	for major := range uint(3) {
		last := version.MajorMinor(0, 0)
		for minor := range uint(60) {
			own := version.MajorMinor(major, minor)
			got := Kubernetes(own)
			if got == nil || got.Major() != newest.Major() || newest.LessThan(got) {
				t.Fatalf("%v is mapped to %v", own, got)
			}
			if got.LessThan(last) {
				t.Errorf("%v is mapped to %v, its predecessor to %v", own, got, last)
			}
			last = got
		}
	}
}

func TestString(t *testing.T) {
	for _, part := range []string{Release, Commit, baseversion.DefaultKubeBinaryVersion, "go1."} {
		if !strings.Contains(String(), part) {
			t.Errorf("%q does not say %s", String(), part)
		}
	}
	release := version.MustParse(Release)
	if got := fmt.Sprintf("%d.%d", release.Major(), release.Minor()); got != Minor {
		t.Errorf("release %s has the features of %s", Release, Minor)
	}
}
