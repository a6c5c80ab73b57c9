package kubectl

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned/scheme"
)

// server answers with one rollout, and takes every verb.
type server struct {
	*httptest.Server
	rollout *v1alpha1.Rollout
	// asked are the requests, as method and path with query; sent is the body of the last.
	asked []string
	sent  v1alpha1.RolloutAction
}

func newServer(t *testing.T, rollout *v1alpha1.Rollout) *server {
	s := &server{rollout: rollout}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked = append(s.asked, r.Method+" "+strings.TrimPrefix(r.URL.RequestURI(), "/apis/binnacle.dev/v1alpha1/namespaces/fleet/"))
		var answer any = rollout
		switch {
		case r.Method == http.MethodPost:
			body, _ := io.ReadAll(r.Body)
			if err := runtime.DecodeInto(scheme.Codecs.UniversalDeserializer(), body, &s.sent); err != nil {
				t.Error(err)
			}
			w.Header().Add("Warning", `299 - "the slices follow"`)
			answer = &v1alpha1.RolloutAction{Spec: s.sent.Spec, Status: v1alpha1.RolloutActionStatus{Phase: v1alpha1.RolloutAborted, Revision: 3, Repeated: s.sent.Spec.IdempotencyKey == "known"}}
		case strings.HasSuffix(r.URL.Path, "/preview"):
			answer = &v1alpha1.RolloutPreview{Status: v1alpha1.RolloutPreviewStatus{Step: "p100", Added: []v1alpha1.ClusterReference{{Name: "c10"}}}}
		}
		w.Header().Set("Content-Type", "application/json")
		kinds := map[bool]string{true: "RolloutAction", false: "Rollout"}
		encoded, _ := json.Marshal(answer)
		kind := kinds[r.Method == http.MethodPost]
		if strings.HasSuffix(r.URL.Path, "/preview") {
			kind = "RolloutPreview"
		}
		_, _ = w.Write([]byte(`{"kind":"` + kind + `","apiVersion":"binnacle.dev/v1alpha1",` + string(encoded[1:])))
	}))
	t.Cleanup(s.Close)
	return s
}

// run runs a command line as somebody who types, at a terminal or not.
func (s *server) run(t *testing.T, terminal bool, typed string, args ...string) (out, errOut string, err error) {
	t.Helper()
	t.Setenv("KUBECONFIG", "/nonexistent")
	streams, in, stdout, stderr := genericiooptions.NewTestIOStreams()
	in.WriteString(typed)
	f := &factory{IOStreams: streams, flags: genericclioptions.NewConfigFlags(true), now: func() time.Time { return noon }}
	f.terminal = func(any) (int, bool) { return defaultWidth, terminal }
	cmd := newCommand(f)
	cmd.SetArgs(append([]string{"--server=" + s.URL, "--namespace=fleet"}, args...))
	err = cmd.ExecuteContext(t.Context())
	return stdout.String(), stderr.String(), err
}

// TestConfirm asks on a terminal, and binds the request to what was shown.
func TestConfirm(t *testing.T) {
	tests := []struct {
		name     string
		terminal bool
		typed    string
		args     []string
		asked    bool
		done     string // the query of the request; none where nothing was done
		observed bool
	}{
		{"yes", true, "y\n", []string{"abort", "web"}, true, "abort", true},
		{"Yes", true, "Yes\n", []string{"abort", "web"}, true, "abort", true},
		{"no", true, "n\n", []string{"abort", "web"}, true, "", false},
		{"Enter", true, "\n", []string{"abort", "web"}, true, "", false},
		{"end of input", true, "", []string{"abort", "web"}, true, "", false},
		{"--yes", true, "", []string{"abort", "web", "--yes"}, false, "abort", false},
		{"a script", false, "", []string{"abort", "web"}, false, "abort", false},
		{"dry run", true, "", []string{"abort", "web", "--dry-run=server"}, false, "abort?dryRun=All", false},
		{"promote", true, "y\n", []string{"promote", "web", "--reason=x"}, true, "promote", true},
		{"rollback", true, "y\n", []string{"rollback", "web", "--to-revision=1"}, true, "rollback", true},
		{"advance", true, "", []string{"advance", "web"}, false, "advance", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(t, newRollout())
			_, errOut, err := s.run(t, test.terminal, test.typed, append([]string{"rollout"}, test.args...)...)
			if (err == nil) != (test.done != "") || strings.Contains(errOut, "[y/N]") != test.asked {
				t.Errorf("%v, and said %s", err, errOut)
			}
			last := s.asked[len(s.asked)-1]
			if posted := strings.HasPrefix(last, "POST "); posted != (test.done != "") || posted && last != "POST rollouts/web/"+test.done {
				t.Errorf("asked %q", s.asked)
			}
			if (s.sent.Spec.ObservedStep != nil && *s.sent.Spec.ObservedStep == "p25" && *s.sent.Spec.ObservedRevision == 2) != test.observed {
				t.Errorf("sent %+v", s.sent.Spec)
			}
			if read := s.asked[0] == "GET rollouts/web"; read != (test.name != "advance") || test.done != "" && (s.sent.Metadata.UID == "u") != read {
				t.Errorf("asked %q, and sent %+v", s.asked, s.sent.Metadata)
			}
		})
	}
}

// TestActionFlags wants every flag of a verb in the request or the answer.
func TestActionFlags(t *testing.T) {
	tests := []struct {
		args []string
		sent string
		out  string
	}{
		{[]string{"pause", "rollout.binnacle.dev/web"}, `{}`, "rollout.binnacle.dev/web paused\n0/0 clusters, Aborted, revision 3\n"},
		{[]string{"pause", "web"}, `{}`, "rollout.binnacle.dev/web paused\n0/0 clusters, Aborted, revision 3\n"},
		{[]string{"advance", "web", "--observed-step="}, `{"observedStep":""}`, "web advanced\n"},
		{[]string{"advance", "web", "--observed-step=p10", "--observed-revision=0"}, `{"observedStep":"p10","observedRevision":0}`, "web advanced\n"},
		{[]string{"approve", "web", "--reason=fine", "--idempotency-key=known"}, `{"idempotencyKey":"known","reason":"fine"}`, "web approved (repeated, nothing changed)\n"},
		{[]string{"rollback", "web", "--to-revision=1"}, `{"toRevision":1}`, "web rolled back\n"},
		{[]string{"retry", "web", "--clusters=c1,edge/c2"}, `{"clusters":[{"name":"c1"},{"name":"c2","namespace":"edge"}]}`, "web retried\n"},
		{[]string{"resume", "web", "--dry-run=server"}, `{}`, "web resumed (server dry run)\n"},
		{[]string{"pause", "web", "-o", "name"}, `{}`, "rollout.binnacle.dev/web\n"},
		{[]string{"pause", "web", "-o", "json"}, `{}`, `"kind": "RolloutAction"`},
		{[]string{"pause", "web", "-o", "yaml"}, `{}`, "\nkind: RolloutAction\n"},
		{[]string{"pause", "web", "-o", "jsonpath={.status.revision}"}, `{}`, "3"},
	}
	for _, test := range tests {
		s := newServer(t, newRollout())
		out, errOut, err := s.run(t, false, "", append([]string{"rollout"}, test.args...)...)
		if err != nil || !strings.Contains(out, test.out) || !strings.Contains(errOut, "Warning: the slices follow\n") {
			t.Errorf("%v: %v, %q and %q, want %q with the warning", test.args, err, out, errOut, test.out)
		}
		if sent, _ := json.Marshal(s.sent.Spec); string(sent) != test.sent {
			t.Errorf("%v: sent %s, want %s", test.args, sent, test.sent)
		}
	}
}

// TestRefusedHere are command lines that no server is asked about.
func TestRefusedHere(t *testing.T) {
	for line, want := range map[string]string{
		"bogus": `unknown command "bogus"`, "rollout bogus": `unknown command "bogus" for "kubectl binnacle rollout"`, "rollout advance": "NAME is required",
		"rollout advance a b": `unexpected argument "b"`, "rollout advance web --dry-run=client": "none or server", "rollout rollback web": "--to-revision is required", "rollout promote web": "--reason is required", "rollout retry web --clusters=": "--clusters names no cluster",
		"rollout pause web --yes": "unknown flag: --yes", "rollout advance web --to-revision=1": "unknown flag", "rollout status web --wait=soon": "--wait is complete",
		"rollout advance web -o table": "unable to match a printer", "rollout preview web -o table": "unable to match", "rollout history web -o table": "unable to match",
		"rollout status web -o table": "unable to match", "status -o name": "unable to match", "status web": `unexpected argument "web"`, "version x": "unexpected argument",
	} {
		s := newServer(t, newRollout())
		if _, _, err := s.run(t, false, "", strings.Fields(line)...); err == nil || !strings.Contains(err.Error(), want) || len(s.asked) > 0 {
			t.Errorf("%s: %v, want %q; asked %q", line, err, want, s.asked)
		}
	}
}

// TestHelp wants an explanation of each command and flag, and lines that end like sentences.
func TestHelp(t *testing.T) {
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		if cmd.Short == "" || cmd.Runnable() && !cmd.HasSubCommands() && cmd.Example == "" {
			t.Errorf("%s: no explanation or example", cmd.CommandPath())
		}
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s: nothing about --%s", cmd.CommandPath(), f.Name)
			}
		})
		for _, below := range cmd.Commands() {
			check(below)
		}
	}
	check(NewCommand(genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: io.Discard, ErrOut: io.Discard}))
}
