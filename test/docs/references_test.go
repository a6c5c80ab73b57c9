package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/binnacle-dev/binnacle/test/framework"
)

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	codeSpan = regexp.MustCompile("`[^`]+`")
	flagName = regexp.MustCompile(`(^|[\s\[])--([a-z][a-z0-9-]*)`)
	heading  = regexp.MustCompile(`^#+ (.*)$`)
	notInID  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinks wants every relative link to lead to a file, and to a heading where it names one; and every page to be reachable.
func TestLinks(t *testing.T) {
	root, err := framework.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	byPath := map[string]page{}
	for _, p := range pages(t) {
		byPath[p.path] = p
	}
	linked := map[string]bool{"README.md": true}
	for _, p := range byPath {
		for i, line := range p.prose {
			for _, m := range link.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, ""), -1) {
				target, anchor, _ := strings.Cut(m[1], "#")
				if strings.HasPrefix(target, "https://") {
					continue
				}
				path := p.path
				if target != "" {
					path = filepath.Join(filepath.Dir(p.path), target)
				}
				if _, err := os.Stat(filepath.Join(root, path)); err != nil {
					t.Errorf("%s:%d: %s leads nowhere", p.path, i+1, m[1])
				}
				if anchor != "" && !slices.Contains(anchors(byPath[path]), anchor) {
					t.Errorf("%s:%d: %s has no heading %s", p.path, i+1, path, anchor)
				}
				if path != p.path {
					linked[path] = true
				}
			}
		}
	}
	for path := range byPath {
		if !linked[path] {
			t.Errorf("no page links to %s", path)
		}
	}
}

// anchors are the names of a page's headings, as GitHub makes them.
func anchors(p page) []string {
	var ids []string
	for _, line := range p.prose {
		if m := heading.FindStringSubmatch(line); m != nil {
			ids = append(ids, strings.ReplaceAll(notInID.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
		}
	}
	return ids
}

// otherCommands are those whose flags are not ours.
var otherCommands = []string{"kubectl", "openssl", "curl", "go", "make", "git", "crane", "etcdctl", "etcdutl", "jq", "protoc"}

// otherFlags are flags of others that text speaks of: etcd's and etcdutl's, and those of the hub's kube-apiserver.
var otherFlags = []string{"bump-revision", "mark-compacted", "name", "initial-cluster", "quota-backend-bytes", "unsafe-no-fsync", "enable-aggregator-routing",
	"proxy-client-cert-file", "proxy-client-key-file"}

// TestFlags wants every flag in code to be one of the server's, the agent's or the plugin's, unless the code is a command of others.
func TestFlags(t *testing.T) {
	help := serverHelp(t) + serverHelp(t, "check-hub") + serverHelp(t, "snapshot") + serverHelp(t, "restore") + helpOf(t, "binnacle-agent") + pluginHelp(t)
	known := map[string]bool{"help": true}
	for _, name := range otherFlags {
		known[name] = true
	}
	for _, m := range flagName.FindAllStringSubmatch(help, -1) {
		known[m[2]] = true
	}
	if !known["etcd-servers"] {
		t.Fatalf("no flags in --help:\n%s", help)
	}
	for _, p := range pages(t) {
		for _, code := range codeOf(p) {
			words := strings.Fields(strings.TrimPrefix(code, "$ "))
			if len(words) > 0 && slices.Contains(otherCommands, words[0]) {
				continue
			}
			for _, m := range flagName.FindAllStringSubmatch(code, -1) {
				if !known[m[2]] {
					t.Errorf("%s: neither binnacle-apiserver nor binnacle-agent nor the plugin has a flag --%s: %s", p.path, m[2], code)
				}
			}
		}
	}
}

// codeOf returns the code of a page: spans, and the commands and lines of blocks.
func codeOf(p page) []string {
	var all []string
	for _, line := range p.prose {
		for _, span := range codeSpan.FindAllString(line, -1) {
			all = append(all, strings.Trim(span, "`"))
		}
	}
	for _, b := range p.blocks {
		switch b.language {
		case "sh", "console":
			whole := strings.ReplaceAll(strings.Join(b.text, "\n"), "\\\n", " ")
			for line := range strings.SplitSeq(whole, "\n") {
				if b.language == "sh" || strings.HasPrefix(line, "$ ") {
					all = append(all, strings.Split(strings.TrimSpace(line), " | ")...)
				}
			}
		}
	}
	return all
}

// TestGates wants the page of feature gates to name each of our own.
func TestGates(t *testing.T) {
	var text string
	for _, p := range pages(t) {
		if p.path == filepath.Join("docs", "reference", "feature-gates.md") {
			text = strings.Join(p.lines, "\n")
		}
	}
	gates := regexp.MustCompile(`binnacle:(\w+)=true\|false \((\w+) - default=(\w+)\)`).FindAllStringSubmatch(serverHelp(t), -1)
	if len(gates) == 0 {
		t.Fatal("no gates in --help")
	}
	for _, m := range gates {
		if !regexp.MustCompile("(?m)^\\| `binnacle:" + m[1] + "` \\| (?i:" + m[2] + ") \\| `" + m[3] + "` \\|").MatchString(text) {
			t.Errorf("docs/reference/feature-gates.md has no row | `binnacle:%s` | %s | `%s` |", m[1], m[2], m[3])
		}
	}
}

func serverHelp(t *testing.T, subcommand ...string) string {
	t.Helper()
	return helpOf(t, "binnacle-apiserver", subcommand...)
}

func helpOf(t *testing.T, binary string, subcommand ...string) string {
	t.Helper()
	root, err := framework.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(root, "bin", binary), append(subcommand, "--help")...).CombinedOutput()
	if err != nil {
		t.Fatalf("make build, then run this again: %v\n%s", err, out)
	}
	return string(out)
}

// pluginHelp is what every command of the kubectl plugin says of itself.
func pluginHelp(t *testing.T, command ...string) string {
	t.Helper()
	help := helpOf(t, "kubectl-binnacle", command...)
	_, below, _ := strings.Cut(help, "Available Commands:\n")
	below, _, _ = strings.Cut(below, "\n\n")
	for line := range strings.Lines(below) {
		if name := strings.Fields(line)[0]; name != "help" && name != "completion" {
			help += pluginHelp(t, append(slices.Clone(command), name)...)
		}
	}
	return help
}

// TestNoLocalPaths wants no path of somebody's machine in a page.
func TestNoLocalPaths(t *testing.T) {
	local := regexp.MustCompile(`/(root|home|Users|work|tmp/bash)/`)
	for _, p := range pages(t) {
		for i, line := range p.lines {
			if local.MatchString(line) {
				t.Errorf("%s:%d: %s", p.path, i+1, line)
			}
		}
	}
}

// TestExamples wants each block of Go in a page to be part of a program in docs/examples or examples, which the build compiles.
func TestExamples(t *testing.T) {
	root, err := framework.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	var programs []string
	for _, folder := range []string{filepath.Join("docs", "examples"), "examples"} {
		found, err := filepath.Glob(filepath.Join(root, folder, "*", "*.go"))
		if err != nil || len(found) == 0 {
			t.Fatalf("no programs in %s: %v", folder, err)
		}
		programs = append(programs, found...)
	}
	var sources []string
	for _, program := range programs {
		source, err := os.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, string(source))
	}
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			text := strings.Join(b.text, "\n")
			if b.language == "go" && !slices.ContainsFunc(sources, func(source string) bool { return strings.Contains(source, text) }) {
				t.Errorf("%s:%d: no program in docs/examples or examples has this code", p.path, b.line)
			}
		}
	}
}
