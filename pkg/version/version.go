// Package version says which Binnacle this is.
package version

import (
	"fmt"
	"runtime"

	"k8s.io/apimachinery/pkg/util/version"
	baseversion "k8s.io/component-base/version"
)

// Component is the name of Binnacle among the components whose version and feature gates a process keeps.
const Component = "binnacle"

// Minor is the version whose features this binary has. Feature gates and API lifecycles are declared in terms of it.
const Minor = "0.1"

var (
	// Release is the version of this binary.
	Release = "v0.1.0"
	// Commit is the git commit that it was built from, set by the linker.
	Commit = "unknown"
)

// String is what --version prints.
func String() string {
	return fmt.Sprintf("Binnacle %s (commit %s, Kubernetes libraries %s, %s)", Release, Commit, baseversion.DefaultKubeBinaryVersion, runtime.Version())
}

// Kubernetes maps a version of Binnacle to the Kubernetes version whose libraries it was released with: the current one to the current
// one, and each minor before it to one minor before. It answers for every version.
func Kubernetes(own *version.Version) *version.Version {
	kubernetes := version.MustParse(baseversion.DefaultKubeBinaryVersion)
	current := version.MustParse(Minor)
	if own == nil || own.Major() != current.Major() || own.Minor() >= current.Minor() {
		return kubernetes
	}
	return kubernetes.OffsetMinor(-int(current.Minor() - own.Minor()))
}
