package app

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/utils/dump"

	cliflag "k8s.io/component-base/cli/flag"
	basecompatibility "k8s.io/component-base/compatibility"
)

// newOptions returns options of a process of its own.
func newOptions(t *testing.T) *Options {
	t.Helper()
	o, err := NewOptions(basecompatibility.NewComponentGlobalsRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// parse returns what a command line says, not completed.
func parse(t *testing.T, args ...string) *Options {
	t.Helper()
	o := newOptions(t)
	all := pflag.NewFlagSet("test", pflag.ContinueOnError)
	for _, set := range o.Flags().FlagSets {
		all.AddFlagSet(set)
	}
	if err := all.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o
}

// inRegistry are the flags that end in the registry of versions and feature gates.
var inRegistry = map[string]bool{"emulated-version": true, "min-compatibility-version": true, "feature-gates": true}

// state is all that options hold, in words. What the flags themselves remember is left out: it says nothing of an effect.
func state(o *Options, registry bool) string {
	held := *o
	held.flags, held.features = cliflag.NamedFlagSets{}, nil
	if !registry {
		held.registry = nil
	}
	return dump.ForHash(held)
}

// special are values for flags whose type alone does not tell a legal one.
var special = map[string]string{
	"logging-format":            "json",
	"runtime-config":            "api/all=false",
	"tls-sni-cert-key":          "a.crt,a.key",
	"vmodule":                   "options=3",
	"log-json-info-buffer-size": "1Ki",
	"log-text-info-buffer-size": "1Ki",
	"feature-gates":             "binnacle:CustomResourceErrors=false",
}

// another returns a value that a flag does not have by default.
func another(f *pflag.Flag) (string, error) {
	if value, ok := special[f.Name]; ok {
		return value, nil
	}
	switch f.Value.Type() {
	case "bool":
		old, err := strconv.ParseBool(f.DefValue)
		return strconv.FormatBool(!old), err
	case "int", "int32", "int64":
		old, err := strconv.ParseInt(f.DefValue, 10, 64)
		return strconv.FormatInt(old+1, 10), err
	case "float32", "float64":
		old, err := strconv.ParseFloat(f.DefValue, 64)
		return strconv.FormatFloat(old+0.01, 'f', -1, 64), err
	case "duration":
		old, err := time.ParseDuration(f.DefValue)
		return (old + time.Second).String(), err
	case "ip":
		return "203.0.113.7", nil
	case "string", "stringSlice", "stringArray":
		return "changed", nil
	case "int32Slice":
		return "4242", nil
	case "Level":
		return "7", nil
	}
	return "", fmt.Errorf("no value known for the type %s", f.Value.Type())
}

// TestEveryFlagHasAnEffect gives each flag a value that it does not have by default, and looks for it in the options.
func TestEveryFlagHasAnEffect(t *testing.T) {
	count := 0
	for group, set := range newOptions(t).Flags().FlagSets {
		set.VisitAll(func(f *pflag.Flag) {
			if f.Deprecated != "" { // It is not in the help, and says by itself that it is about to go.
				return
			}
			count++
			t.Run(group+"/"+f.Name, func(t *testing.T) {
				o := newOptions(t)
				flag := o.Flags().FlagSets[group].Lookup(f.Name)
				before := state(o, inRegistry[f.Name])
				if again := state(o, inRegistry[f.Name]); again != before {
					t.Fatal("the options look different each time")
				}
				value, err := another(f)
				if err != nil {
					t.Fatal(err)
				}
				if err := flag.Value.Set(value); err != nil {
					t.Fatal(err)
				}
				if state(o, inRegistry[f.Name]) == before {
					t.Errorf("--%s=%s changes nothing", f.Name, value)
				}
			})
		})
	}
	// Far fewer would mean that a group got lost.
	if count < 100 {
		t.Errorf("only %d flags", count)
	}
}

// TestFlagsAreExplained keeps a flag from being shown without words, or in two groups.
func TestFlagsAreExplained(t *testing.T) {
	seen := map[string]string{}
	flags := newOptions(t).Flags()
	for _, group := range flags.Order {
		set := flags.FlagSets[group]
		if !set.HasFlags() {
			t.Errorf("the group %s is empty", group)
		}
		set.VisitAll(func(f *pflag.Flag) {
			if strings.TrimSpace(f.Usage) == "" {
				t.Errorf("--%s has no explanation", f.Name)
			}
			if other, ok := seen[f.Name]; ok {
				t.Errorf("--%s is in %s and in %s", f.Name, other, group)
			}
			seen[f.Name] = group
		})
	}
	for _, group := range hubOnly {
		if set, ok := flags.FlagSets[group]; !ok || !set.HasFlags() {
			t.Errorf("there are no flags in %s, which standalone refuses", group)
		}
	}
	if len(flags.Order) != len(flags.FlagSets) {
		t.Errorf("%d groups in order, %d in all", len(flags.Order), len(flags.FlagSets))
	}
}
