package app

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/utils/dump"

	"github.com/binnacle-dev/binnacle/pkg/agent"
)

// parse returns what a command line says, completed.
func parse(t *testing.T, args ...string) *Options {
	t.Helper()
	o := NewOptions()
	all := pflag.NewFlagSet("test", pflag.ContinueOnError)
	for _, set := range o.Flags().FlagSets {
		all.AddFlagSet(set)
	}
	if err := all.Parse(args); err != nil {
		t.Fatal(err)
	}
	if err := o.Complete(); err != nil {
		t.Fatal(err)
	}
	return o
}

var required = []string{"--hub-kubeconfig=hub", "--cluster-namespace=fleet", "--cluster-name=c1"}

func TestValidate(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want []string // of the error; none where it is nil
	}{
		{"what is required", required, nil},
		{"nothing", nil, []string{"--hub-kubeconfig is required", "--cluster-namespace is required", "--cluster-name is required"}},
		{"a name that is none", append(required, "--cluster-name=C_1"), []string{`--cluster-name: "C_1"`}},
		{"everything", append(required, "--kubeconfig=member", "--cluster-profile-uid=u", "--interval=1h", "--resources=cpu,nvidia.com/gpu", "--health-bind-address=[::1]:1", "--v=3"), nil},
		{"too often", append(required, "--interval=999ms"), []string{"--interval: 999ms"}},
		{"too rarely", append(required, "--interval=1h1s"), []string{"--interval: 1h0m1s"}},
		{"no whole seconds", append(required, "--interval=1500ms"), []string{"--interval: 1.5s"}},
		{"a resource that is none", append(required, "--resources=cpu,a b"), []string{`--resources: "a b"`}},
		{"no port", append(required, "--health-bind-address=127.0.0.1"), []string{"--health-bind-address", "missing port"}},
		{"a host name", append(required, "--health-bind-address=localhost:1"), []string{`"localhost" is not an IP address`}},
		{"every address", append(required, "--health-bind-address=:8081"), nil},
		{"no address", append(required, "--health-bind-address="), nil},
		{"log format", append(required, "--logging-format=poem"), []string{"poem"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := parse(t, test.args...).Validate()
			if (err != nil) != (len(test.want) > 0) {
				t.Fatalf("error %v, want one with %q", err, test.want)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want one with %q", err, want)
				}
			}
		})
	}
}

// TestConfig wants each flag of the agent's own to arrive where it has its effect.
func TestConfig(t *testing.T) {
	tests := []struct {
		flag string
		set  func(*agent.Config)
	}{
		{"--kubeconfig=member", func(c *agent.Config) { c.Kubeconfig = "member" }},
		{"--hub-kubeconfig=other", func(c *agent.Config) { c.HubKubeconfig = "other" }},
		{"--cluster-namespace=other", func(c *agent.Config) { c.Namespace = "other" }},
		{"--cluster-name=other", func(c *agent.Config) { c.Name = "other" }},
		{"--cluster-profile-uid=u", func(c *agent.Config) { c.ProfileUID = "u" }},
		{"--interval=20s", func(c *agent.Config) { c.Interval = 20 * time.Second }},
		{"--resources=memory,cpu,memory", func(c *agent.Config) { c.Resources = []string{"cpu", "memory"} }},
	}
	for _, test := range tests {
		t.Run(test.flag, func(t *testing.T) {
			want := agent.Config{HubKubeconfig: "hub", Namespace: "fleet", Name: "c1"}
			test.set(&want)
			got, err := parse(t, append(required, "--health-bind-address=", test.flag)...).config()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(agent.Config{}, "Metrics", "MetricsHandler", "Listener")); diff != "" {
				t.Errorf("config (-want +got):\n%s", diff)
			}
			if got.Listener != nil {
				t.Error("listens")
			}
		})
	}
}

func TestHealthBindAddress(t *testing.T) {
	c, err := parse(t, append(required, "--health-bind-address=127.0.0.1:0")...).config()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Listener.Close()
	if !c.Listener.Addr().(*net.TCPAddr).IP.IsLoopback() {
		t.Errorf("listens on %s", c.Listener.Addr())
	}
	if _, err := parse(t, append(required, "--health-bind-address="+c.Listener.Addr().String())...).config(); err == nil {
		t.Error("no error where somebody else listens")
	}
}

// TestEveryFlagHasAnEffect gives each flag a value that it does not have by default, and looks for it in the options.
func TestEveryFlagHasAnEffect(t *testing.T) {
	special := map[string]string{"logging-format": "json", "vmodule": "options=3"}
	count := 0
	for group, set := range NewOptions().Flags().FlagSets {
		set.VisitAll(func(f *pflag.Flag) {
			count++
			if strings.TrimSpace(f.Usage) == "" {
				t.Errorf("--%s has no explanation", f.Name)
			}
			value, known := special[f.Name]
			if !known {
				value = another(t, f)
			}
			o := NewOptions()
			flag := o.Flags().FlagSets[group].Lookup(f.Name)
			before := state(o)
			if err := flag.Value.Set(value); err != nil {
				t.Fatal(err)
			}
			if state(o) == before {
				t.Errorf("--%s=%s changes nothing", f.Name, value)
			}
		})
	}
	if count != 12 {
		t.Errorf("%d flags", count)
	}
}

func state(o *Options) string {
	held := *o
	held.flags = cliflag.NamedFlagSets{}
	return dump.ForHash(held)
}

func another(t *testing.T, f *pflag.Flag) string {
	t.Helper()
	switch f.Value.Type() {
	case "duration":
		old, err := time.ParseDuration(f.DefValue)
		if err != nil {
			t.Fatal(err)
		}
		return (old + time.Second).String()
	case "Level":
		return strconv.Itoa(7)
	case "string", "stringSlice":
		return "changed"
	}
	t.Fatal(fmt.Sprint("no value known for the type ", f.Value.Type()))
	return ""
}
