package kubectl

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	cliflag "k8s.io/component-base/cli/flag"
)

// The groups of flags that several commands share.
const verbFlags, formatFlags, allFlags = "verbs that move a rollout", "output of rollout commands", "all commands"

// Flags returns the flags for the documentation: those of each command by itself, then those that several share.
func Flags() cliflag.NamedFlagSets {
	root := NewCommand(genericiooptions.NewTestIOStreamsDiscard())
	var sets cliflag.NamedFlagSets
	for _, cmd := range leaves(root) {
		name := strings.TrimPrefix(cmd.CommandPath(), root.CommandPath()+" ")
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if group := sets.FlagSet(groupOfFlag(cmd, f.Name, name)); group.Lookup(f.Name) == nil {
				group.AddFlag(f)
			}
		})
	}
	sets.FlagSet(allFlags).AddFlagSet(root.PersistentFlags())
	for _, shared := range []string{verbFlags, formatFlags, allFlags} {
		sets.Order = append(slices.DeleteFunc(sets.Order, func(group string) bool { return group == shared }), shared)
	}
	return sets
}

// groupOfFlag is the group of a flag: the command's own, or one that several share.
func groupOfFlag(cmd *cobra.Command, flag, own string) string {
	formats := &cobra.Command{}
	newPrintFlags().AddFlags(formats)
	verb := slices.ContainsFunc(actions, func(a action) bool { return a.verb == cmd.Name() })
	switch {
	case formats.Flags().Lookup(flag) != nil && cmd.Parent().Name() == "rollout":
		return formatFlags
	case verb && !slices.Contains([]string{"to-revision", "clusters", "yes"}, flag):
		return verbFlags
	}
	return own
}

func leaves(cmd *cobra.Command) (all []*cobra.Command) {
	if !cmd.HasSubCommands() {
		return []*cobra.Command{cmd}
	}
	for _, below := range cmd.Commands() {
		all = append(all, leaves(below)...)
	}
	return all
}
