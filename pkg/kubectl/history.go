package kubectl

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

func newHistoryCommand(f *factory) *cobra.Command {
	flags := newPrintFlags()
	cmd := &cobra.Command{
		Use: "history NAME", Short: "Show who moved a rollout, and the revisions to return to", Args: exactly("NAME"),
		ValidArgsFunction: f.completeRollouts,
		Long:              "Show the last 20 things that moved a rollout, the newest last, and the revisions that rollback may return to.",
		Example:           "  kubectl binnacle rollout history web",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(flags); err != nil {
				return err
			}
			rollouts, _, err := f.rollouts()
			if err != nil {
				return err
			}
			rollout, err := rollouts.Get(cmd.Context(), rolloutName(args[0]), metav1.GetOptions{})
			if err != nil {
				return err
			}
			if chosen(flags) {
				return printObject(flags, rollout, f.Out)
			}
			text := describeHistory(rollout, f.now())
			if width, terminal := f.terminal(f.Out); terminal {
				text = shortenLines(text, width)
			}
			_, err = fmt.Fprint(f.Out, text)
			return err
		},
	}
	addPrintFlags(cmd, flags)
	return cmd
}

// describeHistory is two tables. The last column of the first is as long as the reasons that people gave.
func describeHistory(rollout *v1alpha1.Rollout, now time.Time) string {
	if len(rollout.Status.Transitions) == 0 {
		return "Nothing has moved rollout " + rollout.Name + " yet.\n"
	}
	moves := [][]string{{"AGE", "VERB", "USER", "STEP", "REV", "PHASE", "REASON"}}
	for i := range rollout.Status.Transitions {
		t := &rollout.Status.Transitions[i]
		said := strings.Join(strings.Fields(t.Reason), " ")
		if message := strings.Join(strings.Fields(t.Message), " "); said != "" && message != "" {
			said += ": " + message
		} else {
			said += message
		}
		moves = append(moves, []string{age(t.Time, now), t.Verb, userText(t.User), shorten(t.Step, 16), fmt.Sprint(t.Revision), string(t.Phase), said})
	}
	if len(rollout.Status.Revisions) == 0 {
		return table(moves)
	}
	revisions := [][]string{{"REVISION", "AGE", "STEP", "CLUSTERS", ""}}
	for i := range rollout.Status.Revisions {
		r := &rollout.Status.Revisions[i]
		note := ""
		switch {
		case r.Revision == rollout.Status.Revision:
			note = "current"
		case r.Revision == rollout.Status.BaseRevision && !isFinished(rollout):
			note = "abort returns here"
		}
		revisions = append(revisions, []string{fmt.Sprint(r.Revision), age(r.Time, now), shorten(r.Step, 16), fmt.Sprint(r.Clusters), note})
	}
	return table(moves) + "\n" + table(revisions)
}

func age(t metav1.Time, now time.Time) string {
	return duration.HumanDuration(max(0, now.Sub(t.Time)))
}

// userText is a user in at most 20 characters: what tells service accounts apart comes last in their names.
func userText(user string) string {
	user = strings.TrimPrefix(user, "system:serviceaccount:")
	return shorten(strings.TrimPrefix(user, "binnacle.dev/"), 20)
}
