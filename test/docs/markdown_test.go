// Package docs tests the documentation against a running server: manifests are applied, commands are run and their output compared, tables
// of fields and columns are compared with what the server publishes, links and flags are looked up.
//
// A page says what is tested by a comment on the line before a block:
//
//	<!-- test: apply -->               the manifest is applied, status included, without a warning
//	<!-- test: refuse CODE FIELD... --> the manifest is refused, and the answer names these fields
//	<!-- test: file NAME -->           the block is a file for the commands of the page
//	<!-- test: run -->                 each "$ " line is run; the output is what follows, and success where nothing follows
//	<!-- test: fields KIND -->         the table lists every field of the kind
//	<!-- test: columns RESOURCE -->    the table lists every column of the resource
//	<!-- test: verbs -->               the table says what every verb of a Rollout does in every phase, as the planner has it
//	<!-- test: samples -->             (without a block) the sample fleet is loaded at this point
//	<!-- test: none, REASON -->        nothing is tested
//
// Every page has a standalone server of its own, and its blocks are tested from top to bottom.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// page is one Markdown file.
type page struct {
	path  string // in the checkout
	lines []string
	// prose is the lines outside of fenced blocks; a line of a block is empty there.
	prose  []string
	blocks []block
}

// block is a fenced block or a table, or a directive that stands alone.
type block struct {
	line      int // from 1
	language  string
	directive []string
	text      []string
}

var (
	directiveLine = regexp.MustCompile(`^<!-- test: (.*) -->$`)
	fence         = regexp.MustCompile("^ *```([a-z]*)$")
)

// pages returns README.md and everything in docs.
func pages(t *testing.T) []page {
	t.Helper()
	root, err := framework.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{filepath.Join(root, "README.md")}
	err = filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var all []page
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}
		p, problem := parse(relative, string(data))
		if problem != "" {
			t.Fatal(problem)
		}
		all = append(all, p)
	}
	return all
}

// parse reads a page. A problem is what is wrong with its form.
func parse(path, text string) (p page, problem string) {
	p = page{path: path, lines: strings.Split(text, "\n")}
	p.prose = slices.Clone(p.lines)
	var directive []string
	for i := 0; i < len(p.lines); i++ {
		line := p.lines[i]
		if m := directiveLine.FindStringSubmatch(line); m != nil {
			directive = strings.Fields(m[1])
			if directive[0] == "samples" {
				p.blocks = append(p.blocks, block{line: i + 1, directive: directive})
				directive = nil
			}
			continue
		}
		m := fence.FindStringSubmatch(line)
		switch {
		case m != nil:
			b := block{line: i + 1, language: m[1], directive: directive}
			for p.prose[i], i = "", i+1; i < len(p.lines) && strings.TrimSpace(p.lines[i]) != "```"; i++ {
				b.text, p.prose[i] = append(b.text, p.lines[i]), ""
			}
			if i == len(p.lines) {
				return p, path + ": a block that does not end"
			}
			p.prose[i] = ""
			p.blocks = append(p.blocks, b)
		case directive != nil && strings.HasPrefix(line, "|"):
			b := block{line: i + 1, language: "table", directive: directive}
			for ; i < len(p.lines) && strings.HasPrefix(p.lines[i], "|"); i++ {
				b.text = append(b.text, p.lines[i])
			}
			i--
			p.blocks = append(p.blocks, b)
		case directive != nil:
			return p, path + ": nothing to test follows <!-- test: " + strings.Join(directive, " ") + " -->"
		}
		directive = nil
	}
	return p, ""
}

// TestEveryBlockIsTested wants manifests and sessions to be tested, or to say why not.
func TestEveryBlockIsTested(t *testing.T) {
	forms := map[string][]string{
		"apply": {"yaml"}, "refuse": {"yaml", "json"}, "file": {"yaml", "json"}, "run": {"console"}, "fields": {"table"}, "columns": {"table"}, "verbs": {"table"}, "none,": {"yaml", "json", "console"},
	}
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			switch {
			case len(b.directive) == 0 && slices.Contains([]string{"yaml", "json", "console"}, b.language):
				t.Errorf("%s:%d: a %s block without a test", p.path, b.line, b.language)
			case len(b.directive) > 0 && b.directive[0] != "samples" && !slices.Contains(forms[b.directive[0]], b.language):
				t.Errorf("%s:%d: %v is no test of a %s block", p.path, b.line, b.directive, b.language)
			}
		}
	}
}
