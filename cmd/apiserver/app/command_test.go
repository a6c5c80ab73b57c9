package app

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apiserver/pkg/util/compatibility"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/version"
)

var apiserverResource = multicluster.Resource("clusterprofiles")

// command returns the command of a new process, and what it prints.
func command(t *testing.T, args ...string) (*cobra.Command, *bytes.Buffer) {
	t.Helper()
	compatibility.DefaultComponentGlobalsRegistry.Reset()
	cmd, err := NewCommand(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := &bytes.Buffer{}
	cmd.SetOut(out)
	cmd.SetErr(out)
	cmd.SetArgs(args)
	return cmd, out
}

func TestHelpListsEveryGroup(t *testing.T) {
	cmd, out := command(t, "--help")
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	help := strings.ToLower(out.String())
	flags := newOptions(t).Flags()
	last := -1
	for _, group := range flags.Order {
		at := strings.Index(help, "\n"+strings.ToLower(group)+" flags:\n")
		if at < 0 {
			t.Errorf("the group %q is not in the help", group)
		}
		if at >= 0 && at < last {
			t.Errorf("the group %q is out of order", group)
		}
		last = max(last, at)
		flags.FlagSets[group].VisitAll(func(f *pflag.Flag) {
			shown := strings.Contains(help, "--"+f.Name+" ") || strings.Contains(help, "--"+f.Name+"\n")
			if hidden := f.Hidden || f.Deprecated != ""; shown == hidden {
				t.Errorf("--%s is shown: %v", f.Name, shown)
			}
		})
	}
	for _, word := range []string{"--standalone", "clusterprofile", "placementdecision"} {
		if !strings.Contains(help, word) {
			t.Errorf("the help does not say %q", word)
		}
	}
}

func TestVersionFlag(t *testing.T) {
	cmd, out := command(t, "--version")
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(out.String()); got != version.String() {
		t.Errorf("%q, want %q", got, version.String())
	}
}

// TestRefusals are command lines that end before anything is started or written.
func TestRefusals(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"argument", []string{"serve"}, `unknown command "serve"`},
		{"unknown flag", []string{"--nonsense"}, "unknown flag: --nonsense"},
		{"hub flag of a standalone server", []string{"--standalone", "--kubeconfig=a"}, "so --kubeconfig would have no effect"},
		{"embedded among others", []string{"--standalone", "--etcd-servers=embedded,http://127.0.0.1:1"}, "embedded stands alone"},
		{"no server", []string{"--standalone", "--etcd-servers="}, "--etcd-servers must be specified"},
		{"unknown version", []string{"--standalone", "--runtime-config=example.com/v1=true"}, "example.com"},
		{"unknown feature", []string{"--standalone", "--feature-gates=binnacle:Nonsense=true"}, "Nonsense"},
		{"log format", []string{"--standalone", "--logging-format=poem"}, "poem"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			cmd, out := command(t, append(test.args, "--data-dir", dir+"/data")...)
			err := cmd.Execute()
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one that says %q", err, test.want)
			}
			if out.Len() > 0 {
				t.Errorf("printed beside the error: %s", out)
			}
			empty(t, dir)
		})
	}
}
