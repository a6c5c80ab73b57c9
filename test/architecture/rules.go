// Package architecture holds the rules of which package may import which, and the test that checks them. Arrows run downwards only:
// cmd → pkg/apiserver → pkg/registry, pkg/admission → pkg/clusterstatus, pkg/report, pkg/rollout → pkg/apis.
//
// It imports nothing of the project.
package architecture

import (
	"fmt"
	"slices"
	"strings"
)

// Module is the path that all packages of the project begin with.
const Module = "github.com/binnacle-dev/binnacle"

// arrow says what of the project the packages in a folder may import, beside that folder itself.
type arrow struct {
	from string
	to   []string
}

// arrows has a row for every package: the longest from that it lies in counts. Folders of the design that are still to come have
// theirs already.
var arrows = []arrow{
	{"cmd", []string{"pkg"}},
	{"hack", []string{"cmd", "pkg", "test/framework"}},
	{"test", []string{"cmd", "pkg", "test/framework"}},
	// What it starts is the binary that is shipped.
	{"test/framework", nil},
	{"test/architecture", nil},
	// Examples are written as users would.
	{"docs", []string{"pkg/apis", "pkg/generated"}},
	{"examples", []string{"pkg/apis", "pkg/generated"}},

	{"pkg/standalone", []string{"pkg/apiserver"}},
	{"pkg/apiserver", []string{"pkg/registry", "pkg/admission", "pkg/controller", "pkg/clusterstatus", "pkg/report", "pkg/apis", "pkg/compression", "pkg/features", "pkg/generated", "pkg/version"}},
	// The other side of the subresource report: it shares nothing with the server but the kind and its client.
	{"pkg/agent", []string{"pkg/apis", "pkg/generated", "pkg/version"}},
	// Another client of the served kinds.
	{"pkg/kubectl", []string{"pkg/apis", "pkg/generated", "pkg/version"}},
	{"pkg/registry", []string{"pkg/clusterstatus", "pkg/report", "pkg/rollout", "pkg/apis"}},
	{"pkg/admission", []string{"pkg/clusterstatus", "pkg/report", "pkg/rollout", "pkg/apis"}},
	{"pkg/clusterstatus", []string{"pkg/report", "pkg/apis"}},
	{"pkg/report", []string{"pkg/apis"}},
	{"pkg/rollout", []string{"pkg/apis"}},
	// The types of expressions are those of the published schema.
	{"pkg/rollout/expression", []string{"pkg/apis", "pkg/generated/openapi"}},
	// What is called is handed in.
	{"pkg/controller", []string{"pkg/rollout", "pkg/apis"}},
	{"pkg/generated", []string{"pkg/apis"}},
	{"pkg/apis", nil},
	{"pkg/certexpiry", nil},
	{"pkg/compression", nil},
	{"pkg/embeddedetcd", nil},
	{"pkg/servingcert", nil},
	{"pkg/hubcheck", []string{"pkg/apiserver"}},
	{"pkg/features", nil},
	{"pkg/version", nil},
}

// ban says what packages in a folder do without: the longest from that a package lies in counts. Of direct, nothing may be imported by
// themselves; of behind, nothing by what they import either.
type ban struct {
	from           string
	direct, behind []string
}

var bans = []ban{
	// Types and rules are values: who reads them needs no server. apimachinery itself imports net/http.
	{"pkg/apis", []string{"net/http"}, []string{"k8s.io/apiserver", "k8s.io/client-go", "k8s.io/apiextensions-apiserver", "go.etcd.io"}},
	{"pkg/rollout", []string{"net/http", "k8s.io/utils/clock"}, []string{"k8s.io/apiserver", "k8s.io/client-go", "go.etcd.io"}},
	// CEL as Kubernetes has it is a part of apiserver.
	{"pkg/rollout/expression", []string{"net/http", "k8s.io/utils/clock"}, []string{"go.etcd.io"}},
}

// noTestOf are what not even the tests of pkg import, so that each package is tested through what it exports itself.
var noTestOf = []string{"cmd", "hack", "test"}

// goPackage is what go list says of a package. Paths of the project are without the module's.
type goPackage struct {
	path                       string
	imports, testImports, deps []string
}

// violations says which rules a package breaks.
func violations(p goPackage) []string {
	var found []string
	row := rowOf(p.path)
	if row == nil {
		return []string{fmt.Sprintf("%s is in no row of arrows: say there what it may import", p.path)}
	}
	for _, imported := range ours(p.imports) {
		if !under(imported, row.from) && !slices.ContainsFunc(row.to, func(folder string) bool { return under(imported, folder) }) {
			found = append(found, fmt.Sprintf("%s imports %s, but %s may import of the project only %v", p.path, imported, row.from, row.to))
		}
	}
	if under(p.path, "pkg") {
		for _, imported := range ours(p.testImports) {
			if slices.ContainsFunc(noTestOf, func(folder string) bool { return under(imported, folder) }) {
				found = append(found, fmt.Sprintf("a test of %s imports %s", p.path, imported))
			}
		}
	}
	if b := banOf(p.path); b != nil {
		for _, banned := range b.direct {
			if slices.ContainsFunc(p.imports, func(i string) bool { return under(i, banned) }) {
				found = append(found, fmt.Sprintf("%s imports %s", p.path, banned))
			}
		}
		for _, banned := range b.behind {
			if i := slices.IndexFunc(p.deps, func(d string) bool { return under(d, banned) }); i >= 0 {
				found = append(found, fmt.Sprintf("%s imports %s, perhaps through another package (go mod why shows the way)", p.path, p.deps[i]))
			}
		}
	}
	return found
}

// rowOf returns the row of arrows that a package belongs to, nil where there is none.
func rowOf(path string) *arrow {
	var row *arrow
	for i := range arrows {
		if under(path, arrows[i].from) && (row == nil || len(arrows[i].from) > len(row.from)) {
			row = &arrows[i]
		}
	}
	return row
}

// banOf returns the row of bans that a package belongs to, nil where there is none.
func banOf(path string) *ban {
	var row *ban
	for i := range bans {
		if under(path, bans[i].from) && (row == nil || len(bans[i].from) > len(row.from)) {
			row = &bans[i]
		}
	}
	return row
}

// ours returns those paths that lie in the project, without the module's.
func ours(paths []string) []string {
	var own []string
	for _, path := range paths {
		if rest, ok := strings.CutPrefix(path, Module+"/"); ok {
			own = append(own, rest)
		}
	}
	return own
}

func under(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}
