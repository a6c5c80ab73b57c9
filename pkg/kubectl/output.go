package kubectl

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/component-base/term"

	"github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned/scheme"
)

// defaultWidth is what lines are made for where there is no terminal.
const defaultWidth = 80

// newPrintFlags are the formats of a command that shows or moves an object.
func newPrintFlags() *genericclioptions.PrintFlags {
	return genericclioptions.NewPrintFlags("").WithTypeSetter(scheme.Scheme)
}

// checkOutput says whether a format is known, before anything is asked or done.
func checkOutput(flags *genericclioptions.PrintFlags) error {
	_, err := flags.ToPrinter()
	return err
}

// chosen says whether a format was asked for.
func chosen(flags *genericclioptions.PrintFlags) bool {
	template := flags.TemplatePrinterFlags
	return *flags.OutputFormat != "" || template != nil && *template.TemplateArgument != ""
}

// printObject prints an object in the format that was asked for.
func printObject(flags *genericclioptions.PrintFlags, object runtime.Object, out io.Writer) error {
	printer, err := flags.ToPrinter()
	if err != nil {
		return err
	}
	return printer.PrintObj(object, out)
}

// addPrintFlags adds the flags with the completion of the formats.
func addPrintFlags(cmd *cobra.Command, flags *genericclioptions.PrintFlags) {
	flags.AddFlags(cmd)
	complete(cmd, "output", cobra.FixedCompletions(toCompletions(flags.AllowedFormats()), cobra.ShellCompDirectiveNoFileComp))
}

// widthOf is how wide the lines of a stream are, and whether it is a terminal.
func widthOf(stream any) (int, bool) {
	if out, ok := stream.(io.Writer); ok {
		if width, _, err := term.TerminalSize(out); err == nil {
			if width > 0 {
				return width, true
			}
			return defaultWidth, true
		}
	}
	return defaultWidth, false
}

// table aligns rows as kubectl does. The first is the header.
func table(rows [][]string) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 8, 3, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	w.Flush()
	lines := strings.Split(out.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// shorten cuts text to a number of characters, and shows that it did.
func shorten(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return string(runes[:max(0, width-1)]) + "…"
}

// shortenLines cuts every line.
func shortenLines(text string, width int) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = shorten(lines[i], width)
	}
	return strings.Join(lines, "\n")
}
