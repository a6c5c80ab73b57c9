package examples

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// shellBlock is a fenced block of commands: sh is run as it is, console is commands with what they print in the end.
var shellBlock = regexp.MustCompile("(?ms)^```(sh|console)\n(.*?)^```$")

// TestWalkthroughs runs every command of docs/walkthroughs on the hub, from top to bottom, but for the first block of each page, which starts a
// hub and builds the programs.
func TestWalkthroughs(t *testing.T) {
	t.Parallel() // It mostly waits.
	root, err := framework.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "walkthroughs", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no walk-throughs: %v", err)
	}
	for _, page := range pages {
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel() // It mostly waits.
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			s := session{t, t.TempDir()}
			t.Cleanup(s.end)
			blocks := shellBlock.FindAllStringSubmatchIndex(string(text), -1)
			for _, at := range blocks[1:] {
				line := 1 + strings.Count(string(text[:at[0]]), "\n")
				block := string(text[at[4]:at[5]])
				if string(text[at[2]:at[3]]) == "console" {
					s.console(line, block)
				} else if out, err := s.run("set -e\n" + block); err != nil {
					t.Fatalf("line %d: %v\n%s", line, err, out)
				}
			}
		})
	}
}

// session is a shell in a folder, as the hub's administrator.
type session struct {
	t   *testing.T
	dir string
}

func (s session) run(script string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "HOME="+s.dir, "KUBERC=off", "KUBECONFIG="+admin.Kubeconfig,
		fmt.Sprintf("PATH=%s:%s:%s", bin, filepath.Dir(admin.Binary), os.Getenv("PATH")))
	// A file, since what is left in the background would keep a pipe open.
	out, err := os.Create(filepath.Join(s.dir, "out"))
	if err != nil {
		return "", err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	err = cmd.Run()
	text, readErr := os.ReadFile(out.Name())
	if readErr != nil {
		return "", readErr
	}
	return string(text), err
}

// console runs each command until it prints what the page says.
func (s session) console(line int, block string) {
	s.t.Helper()
	for _, part := range strings.Split("\n"+block, "\n$ ")[1:] {
		command, want, _ := strings.Cut(part, "\n")
		got := ""
		within(s.t, fmt.Sprintf("line %d, %s", line, command), func() bool {
			got, _ = s.run(command)
			return plain(got) == plain(want)
		}, func() any { return "\n" + got })
	}
}

// end kills what a page left running.
func (s session) end() {
	_, _ = s.run("kill $(cat *.pid) 2>/dev/null")
	logs, _ := filepath.Glob(filepath.Join(s.dir, "*.log"))
	for _, log := range logs {
		if text, err := os.ReadFile(log); err == nil && s.t.Failed() {
			s.t.Logf("%s:\n%s", filepath.Base(log), text[max(0, len(text)-3000):])
		}
	}
}

var (
	age    = regexp.MustCompile(`\b(\d+[smhd])+( |$)`)
	blanks = regexp.MustCompile(`[ \t]+`)
)

// plain writes text without ages and the width of columns.
func plain(text string) string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		lines = append(lines, strings.TrimSpace(age.ReplaceAllString(blanks.ReplaceAllString(line, " "), "AGE$2")))
	}
	return strings.Join(lines, "\n")
}
