// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
)

const flagsIntro = `# Flags of binnacle-apiserver

<!-- Made by go run ./hack/docs from the flags themselves. Do not edit. -->

What a flag does is told in the server's own words, those of ` + "`binnacle-apiserver --help`" + `. Most flags come from the libraries that
kube-apiserver is built from and mean the same as there. Those that say "core kubernetes server" mean the hub.

With ` + "`--standalone`" + `, the flags of the groups managed certificate, authentication, authorization, hub and admission are refused: they would have no
effect.
`

const agentFlagsIntro = `# Flags of binnacle-agent

<!-- Made by go run ./hack/docs from the flags themselves. Do not edit. -->

What a flag does is told in the agent's own words, those of ` + "`binnacle-agent --help`" + `. What the agent does is told in [the agent](../agent.md).
`

const pluginFlagsIntro = `# Flags of the kubectl plugin

<!-- Made by go run ./hack/docs from the flags themselves. Do not edit. -->

What a flag does is told in the plugin's own words, those of ` + "`kubectl binnacle COMMAND --help`" + `. What the commands do is told in
[the kubectl plugin](../kubectl-plugin.md).
`

// flagReference returns the page of all flags, in the groups and the order in which --help has them.
func flagReference(intro string, groups cliflag.NamedFlagSets) []byte {
	var page bytes.Buffer
	page.WriteString(intro)
	for _, group := range groups.Order {
		fmt.Fprintf(&page, "\n## %s\n\n| flag | default | what it does |\n|---|---|---|\n", strings.ToUpper(group[:1])+group[1:])
		groups.FlagSets[group].VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				page.WriteString(flagRow(f))
			}
		})
	}
	return page.Bytes()
}

func flagRow(f *pflag.Flag) string {
	kind, usage := pflag.UnquoteUsage(f)
	name := "`--" + f.Name + "`"
	if f.Shorthand != "" && f.ShorthandDeprecated == "" {
		name = "`-" + f.Shorthand + "`, " + name
	}
	if kind != "" {
		name += " " + cell(kind)
	}
	byDefault := ""
	if f.DefValue != "" && f.DefValue != "[]" && f.DefValue != "<nil>" {
		byDefault = "`" + f.DefValue + "`"
	}
	if f.Deprecated != "" {
		usage += " Deprecated: " + f.Deprecated
	}
	return fmt.Sprintf("| %s | %s | %s |\n", name, byDefault, cell(usage))
}

// cell makes text stand in a cell of a table as it is.
func cell(text string) string {
	return strings.NewReplacer(
		"|", `\|`, "*", `\*`, "<", "&lt;", ">", "&gt;", "\n", "<br>",
	).Replace(strings.TrimSpace(text))
}
