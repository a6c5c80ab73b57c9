package docs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// site is a page's server, and the folder in which its commands run.
type site struct {
	server *framework.Server
	admin  *rest.Config
	// dir is where commands run.
	dir        string
	kubeconfig string
	files      int
}

// TestPages tests the blocks of each page against a server of its own.
func TestPages(t *testing.T) {
	for _, p := range pages(t) {
		if !slices.ContainsFunc(p.blocks, func(b block) bool { return len(b.directive) > 0 && b.directive[0] != "none," }) {
			continue
		}
		t.Run(p.path, func(t *testing.T) {
			s := newSite(t)
			for _, b := range p.blocks {
				if len(b.directive) == 0 || b.directive[0] == "none," {
					continue
				}
				t.Run(fmt.Sprintf("line %d %s", b.line, b.directive[0]), func(t *testing.T) { s.test(t, b) })
			}
		})
	}
}

func newSite(t *testing.T) *site {
	t.Helper()
	data := t.TempDir()
	s := &site{dir: t.TempDir(), kubeconfig: filepath.Join(data, "kubeconfig")}
	var err error
	if s.server, err = framework.StartStandalone(t.Context(), framework.ServerOptions{Dir: t.TempDir(), DataDir: data}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.server.Stop(); err != nil {
			t.Error(err)
		}
	})
	if s.admin, err = s.server.AdminConfig(); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *site) test(t *testing.T, b block) {
	text := strings.Join(b.text, "\n") + "\n"
	switch b.directive[0] {
	case "samples":
		root, err := framework.ModuleRoot()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := framework.LoadSamples(t.Context(), s.admin, filepath.Join(root, "artifacts", "samples")); err != nil {
			t.Fatal(err)
		}
	case "file":
		if err := os.WriteFile(filepath.Join(s.dir, b.directive[1]), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	case "apply":
		if err := s.apply(t.Context(), text); err != nil {
			t.Error(err)
		}
	case "refuse":
		wantRefusal(t, s.apply(t.Context(), text), b.directive[1], b.directive[2:])
	case "run":
		s.run(t, b.text)
	case "fields":
		s.compareFields(t, b)
	case "columns":
		s.compareColumns(t, b)
	case "verbs":
		compareVerbs(t, b)
	}
}

// warnings are what the server says beside its answer.
type warnings []string

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) { *w = append(*w, text) }

// apply writes a manifest: as a dry run, and then twice, which has to be the same as once.
func (s *site) apply(ctx context.Context, text string) error {
	s.files++
	dir := filepath.Join(s.dir, "apply-"+strconv.Itoa(s.files))
	if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "manifest.yaml"), []byte(text), 0o644)); err != nil {
		return err
	}
	said := &warnings{}
	config := rest.CopyConfig(s.admin)
	config.WarningHandler = said
	dryRun := rest.CopyConfig(config)
	dryRun.Wrap(func(next http.RoundTripper) http.RoundTripper { return dryRunner{next} })
	// A dry run creates nothing whose status the next request could write.
	if _, err := framework.LoadSamples(ctx, dryRun, dir); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	for range 2 {
		if _, err := framework.LoadSamples(ctx, config, dir); err != nil {
			return err
		}
	}
	if len(*said) > 0 {
		return fmt.Errorf("applied with warnings: %q", *said)
	}
	return nil
}

// dryRunner makes every write a dry run.
type dryRunner struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (d dryRunner) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodPatch {
		request = request.Clone(request.Context())
		query := request.URL.Query()
		query.Set("dryRun", "All")
		request.URL.RawQuery = query.Encode()
	}
	return d.next.RoundTrip(request)
}

func wantRefusal(t *testing.T, err error, code string, fields []string) {
	t.Helper()
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		t.Fatalf("not refused by the server: %v", err)
	}
	if got := strconv.Itoa(int(status.Status().Code)); got != code {
		t.Errorf("refused with %s, want %s: %v", got, code, err)
	}
	var got []string
	if details := status.Status().Details; details != nil {
		for _, cause := range details.Causes {
			got = append(got, cause.Field)
		}
	}
	if slices.Sort(got); !slices.Equal(slices.Compact(got), slices.Sorted(slices.Values(fields))) {
		t.Errorf("the answer names the fields %q, want %q: %v", got, fields, err)
	}
}

// run plays a session.
func (s *site) run(t *testing.T, lines []string) {
	path, err := kubectlPath()
	if err != nil {
		t.Skip(err)
	}
	for len(lines) > 0 {
		command, ok := strings.CutPrefix(lines[0], "$ ")
		if !ok {
			t.Fatalf("%q is output of no command", lines[0])
		}
		for lines = lines[1:]; strings.HasSuffix(command, `\`) && len(lines) > 0; lines = lines[1:] {
			command = strings.TrimSuffix(command, `\`) + lines[0]
		}
		end := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "$ ") })
		if end < 0 {
			end = len(lines)
		}
		want := lines[:end]
		lines = lines[end:]

		cmd := exec.CommandContext(t.Context(), "bash", "-c", command)
		cmd.Dir = s.dir
		cmd.Env = append(os.Environ(), "HOME="+s.dir, "KUBERC=off", "KUBECONFIG="+s.kubeconfig, "PATH="+path)
		out, err := cmd.CombinedOutput()
		if len(want) == 0 && err != nil {
			t.Errorf("$ %s\n%v\n%s", command, err, out)
		}
		if got := plain(logLines.ReplaceAllString(string(out), "")); len(want) > 0 && !pattern(want).MatchString(got) {
			t.Errorf("$ %s\ngot:\n%s\nwant:\n%s", command, got, plain(strings.Join(want, "\n")))
		}
	}
}

// logLines are what client-go logs now and then where kubectl ends a watch.
var logLines = regexp.MustCompile(`(?m)^I\d{4} [^\n]*\breflector\.go:\d+\] [^\n]*\n`)

// kubectlPath is a PATH with kubectl and our plugin on it.
func kubectlPath() (string, error) {
	root, err := framework.ModuleRoot()
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, "bin") + string(os.PathListSeparator) + os.Getenv("PATH")
	if tools := os.Getenv(framework.ToolsDirEnv); tools != "" {
		return tools + string(os.PathListSeparator) + path, nil
	}
	if _, err := exec.LookPath("kubectl"); err != nil {
		return "", fmt.Errorf("there is no kubectl; set %s to the folder that hack/tools/build.sh kubectl prints", framework.ToolsDirEnv)
	}
	return path, nil
}

// What differs from run to run, and what is written instead.
var changing = []struct {
	what *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`(creationTimestamp|time): "[-0-9T:]+Z"`), `$1: "TIME"`},
	{regexp.MustCompile(`^\d\d:\d\d:\d\dZ`), "CLOCK"},
	{regexp.MustCompile(`"receivedTime":"[-0-9T:.]+Z"`), `"receivedTime":"TIME"`},
	{regexp.MustCompile(`"nextReportSeconds":\d+`), `"nextReportSeconds":N`},
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "UID"},
	{regexp.MustCompile(`\b(\d+[smhd])+( |$)`), "AGE$2"},
	{regexp.MustCompile(`resourceVersion: "\d+"`), `resourceVersion: "N"`},
	{regexp.MustCompile(`[ \t]+`), " "},
	{regexp.MustCompile(` +$`), ""},
}

// plain writes text without what differs from run to run.
func plain(text string) string {
	var lines []string
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line = strings.TrimRight(line, "\n")
		for _, c := range changing {
			line = c.what.ReplaceAllString(line, c.to)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// pattern matches plain output. A line of three dots stands for any lines.
func pattern(want []string) *regexp.Regexp {
	parts := strings.Split("\n"+plain(strings.Join(want, "\n"))+"\n", "\n...\n")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(strings.Trim(part, "\n"))
	}
	return regexp.MustCompile(`\A` + strings.Join(parts, `(?s:.*)`) + `\z`)
}

// get asks the page's server and decodes the answer.
func (s *site) get(t *testing.T, path, accept string, into any) {
	t.Helper()
	client, err := rest.HTTPClientFor(s.admin)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.admin.Host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", accept)
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", path, response.Status)
	}
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}
