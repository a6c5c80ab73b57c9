package app

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

// TestSubcommandHelp wants a subcommand to have a help of its own, without the server's flags.
func TestSubcommandHelp(t *testing.T) {
	for name, want := range map[string]string{"check-hub": "--server-account", "snapshot": "--output", "restore": "--data-dir"} {
		cmd, out := command(t, name, "--help")
		if err := cmd.Execute(); err != nil {
			t.Fatal(err)
		}
		if help := out.String(); !strings.Contains(help, want) || strings.Contains(help, "--etcd-servers") {
			t.Errorf("%s --help:\n%s", name, help)
		}
	}
	cmd, out := command(t, "--help")
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"check-hub", "snapshot", "restore"} {
		if !strings.Contains(out.String(), "binnacle-apiserver "+name) {
			t.Errorf("the help does not tell of %s", name)
		}
	}
}

func TestExitErrorTellsWhy(t *testing.T) {
	if err := error(ExitError{fs.ErrNotExist, 1}); !errors.Is(err, fs.ErrNotExist) {
		t.Error("what is behind it is hidden")
	}
}

// TestExitCodes is what ends before anything is asked.
func TestExitCodes(t *testing.T) {
	tests := []struct {
		args []string
		want int
	}{
		{[]string{"check-hub", "--kubeconfig=/nonexistent"}, 2},
		{[]string{"check-hub", "--none"}, 2},
		{[]string{"check-hub", "extra"}, 2},
		{[]string{"snapshot", "extra"}, 2},
		{[]string{"snapshot", "--none"}, 2},
		{[]string{"restore", "--none"}, 2},
		{[]string{"restore", "one", "two"}, 2},
		{[]string{"restore", "/nonexistent"}, 1},
		{[]string{"snapshot", "--data-dir=/nonexistent"}, 1},
	}
	for _, test := range tests {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			cmd, out := command(t, test.args...)
			err := cmd.Execute()
			var exit ExitError
			if !errors.As(err, &exit) || exit.Code != test.want {
				t.Errorf("%v, want code %d", err, test.want)
			}
			if out.Len() > 0 {
				t.Errorf("it says %s", out)
			}
		})
	}
}
