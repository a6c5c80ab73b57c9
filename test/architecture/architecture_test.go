package architecture

import (
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// listed is the part of go list -json that is used here.
type listed struct {
	ImportPath, Dir                          string
	GoFiles, TestGoFiles, XTestGoFiles       []string
	Imports, TestImports, XTestImports, Deps []string
}

// packages are all packages of the project.
func packages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Dir,GoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports,Deps", Module+"/...")
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %s", exit.Stderr)
		}
		t.Fatal(err)
	}
	var all []listed
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p listed
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 20 {
		t.Fatalf("go list finds only %d packages", len(all))
	}
	return all
}

// TestImports checks every package against arrows and bans.
func TestImports(t *testing.T) {
	for _, p := range packages(t) {
		path := strings.TrimPrefix(p.ImportPath, Module+"/")
		t.Run(path, func(t *testing.T) {
			for _, broken := range violations(goPackage{path, p.Imports, slices.Concat(p.TestImports, p.XTestImports), p.Deps}) {
				t.Error(broken)
			}
		})
	}
}

// TestPackageComments wants every package that is not generated to say what it is for.
func TestPackageComments(t *testing.T) {
	for _, p := range packages(t) {
		path := strings.TrimPrefix(p.ImportPath, Module+"/")
		if under(path, "pkg/generated") {
			continue
		}
		t.Run(path, func(t *testing.T) {
			for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
				file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.PackageClauseOnly|parser.ParseComments)
				if err != nil {
					t.Fatal(err)
				}
				if strings.HasPrefix(file.Doc.Text(), "Package ") || strings.HasPrefix(file.Doc.Text(), "Command ") {
					return
				}
			}
			t.Error("no file has a package comment that begins with Package or Command")
		})
	}
}

// TestRules shows that each kind of rule can be broken.
func TestRules(t *testing.T) {
	for name, tc := range map[string]struct {
		p    goPackage
		want string // a part of the only violation; empty for none
	}{
		"down is allowed": {goPackage{path: "pkg/apiserver/filters", imports: []string{Module + "/pkg/registry/store", Module + "/pkg/apiserver/bodycheck", "net/http"}}, ""},
		"up is not":       {goPackage{path: "pkg/registry/store", imports: []string{Module + "/pkg/apiserver"}}, "pkg/registry/store imports pkg/apiserver"},
		"a name that only begins alike is another folder": {goPackage{path: "pkg/apiserver", imports: []string{Module + "/pkg/apisomething"}}, "imports pkg/apisomething"},
		"pkg imports no test":                             {goPackage{path: "pkg/version", imports: []string{Module + "/test/framework"}}, "imports test/framework"},
		"nor does its test":                               {goPackage{path: "pkg/version", testImports: []string{Module + "/cmd/apiserver/app"}}, "a test of pkg/version imports cmd"},
		"the framework starts binaries":                   {goPackage{path: "test/framework", imports: []string{Module + "/pkg/version"}}, "test/framework imports pkg/version"},
		"a longer row counts alone":                       {goPackage{path: "test/integration", imports: []string{Module + "/pkg/version"}}, ""},
		"types do without HTTP":                           {goPackage{path: "pkg/apis/x", imports: []string{"net/http"}}, "imports net/http"},
		"but not without what apimachinery imports":       {goPackage{path: "pkg/apis/x", deps: []string{"net/http"}}, ""},
		"types do without storage, even far away":         {goPackage{path: "pkg/apis/x", deps: []string{"go.etcd.io/etcd/client/v3"}}, "go.etcd.io"},
		"a new folder needs a row":                        {goPackage{path: "pkg/new"}, "in no row"},
	} {
		t.Run(name, func(t *testing.T) {
			got := violations(tc.p)
			switch {
			case tc.want == "" && len(got) > 0:
				t.Errorf("got %q, want nothing", got)
			case tc.want != "" && (len(got) != 1 || !strings.Contains(got[0], tc.want)):
				t.Errorf("got %q, want one with %q", got, tc.want)
			}
		})
	}
}
