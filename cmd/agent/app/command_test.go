package app

import (
	"bytes"
	"strings"
	"testing"

	"github.com/binnacle-dev/binnacle/pkg/version"
)

func TestCommand(t *testing.T) {
	tests := []struct {
		name  string
		args  []string
		out   string
		err   string
		usage bool
	}{
		{name: "help", args: []string{"--help"}, out: "--hub-kubeconfig string"},
		{name: "version", args: []string{"--version"}, out: version.String()},
		{name: "argument", args: []string{"report"}, err: `unknown command "report"`, usage: true},
		{name: "unknown flag", args: []string{"--nonsense"}, err: "unknown flag: --nonsense", usage: true},
		{name: "nothing said", err: "--cluster-name is required", usage: true},
		{name: "no kubeconfig", args: []string{"--hub-kubeconfig=/none", "--cluster-namespace=a", "--cluster-name=b", "--health-bind-address="}, err: "credentials for the hub"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cmd, out := NewCommand(t.Context()), &bytes.Buffer{}
			cmd.SetOut(out)
			cmd.SetErr(out)
			cmd.SetArgs(append([]string{}, test.args...))
			err := cmd.Execute()
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) || IsUsage(err) != test.usage {
				t.Errorf("error %v (of the command line: %v), want one with %q", err, IsUsage(err), test.err)
			}
			if !strings.Contains(out.String(), test.out) {
				t.Errorf("printed %q, want %q", out, test.out)
			}
		})
	}
}
