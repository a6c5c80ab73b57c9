package kubectl

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

func newPreviewCommand(f *factory) *cobra.Command {
	flags, step := newPrintFlags(), ""
	cmd := &cobra.Command{
		Use: "preview NAME", Short: "Show what a step would do", Args: exactly("NAME"), ValidArgsFunction: f.completeRollouts,
		Long:    "Show whom the next step, or a later one, would let in, take out and hold if it were taken now. Nothing is changed.",
		Example: "  kubectl binnacle rollout preview web --step=p75",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(flags); err != nil {
				return err
			}
			preview, err := f.preview(cmd.Context(), rolloutName(args[0]), step)
			switch {
			case err != nil:
				return err
			case *flags.OutputFormat == "name":
				return printObject(flags, &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Name: rolloutName(args[0])}}, f.Out)
			case chosen(flags):
				return printObject(flags, preview, f.Out)
			}
			_, err = fmt.Fprintln(f.Out, describePreview(preview))
			return err
		},
	}
	cmd.Flags().StringVar(&step, "step", "", "Name of the step. The next one where it is left out.")
	addPrintFlags(cmd, flags)
	complete(cmd, "step", f.completeStepsToCome)
	return cmd
}

// describePreview is what a step would do, in a few lines.
func describePreview(preview *v1alpha1.RolloutPreview) string {
	s := &preview.Status
	from := "not started"
	if s.FromStep != "" {
		from = fmt.Sprintf("now in step %s at revision %d", s.FromStep, s.FromRevision)
	}
	whole := int(s.Targets)
	lines := []string{fmt.Sprintf("Step %s of rollout %s (%s)", s.Step, preview.Metadata.Name, from)}
	if whole > 0 {
		lines = append(lines, fmt.Sprintf("%s %3d%%  %d/%d clusters", bar(int(s.Planned), whole, 40), 100*int(s.Planned)/whole, s.Planned, whole))
	}
	lines = append(lines, rows(preview)...)
	for _, empty := range s.EmptySteps {
		lines = append(lines, "Step "+empty+" would add nobody and is passed over.")
	}
	for _, blocker := range s.Blockers {
		lines = append(lines, "It cannot be taken now: "+blocker+".")
	}
	return strings.Join(lines, "\n")
}

// rows are the clusters by what would become of them.
func rows(preview *v1alpha1.RolloutPreview) []string {
	s := &preview.Status
	out := [][]string{{"WOULD", "CLUSTERS", "FIRST"}}
	for _, g := range []group{{"come in", s.Added}, {"go out", s.Removed}, {"be held", s.Held}, {"be skipped", s.Skipped}, {"be left out", s.LeftOut}} {
		if len(g.clusters) > 0 {
			out = append(out, []string{g.name, fmt.Sprint(len(g.clusters)), firstNames(preview.Metadata.Namespace, g.clusters, 50)})
		}
	}
	if len(out) == 1 {
		return []string{"Nobody would come or go."}
	}
	return []string{strings.TrimSuffix(table(out), "\n")}
}
