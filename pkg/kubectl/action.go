package kubectl

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	client "github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned/typed/binnacle/v1alpha1"
)

// action is a verb that moves a rollout.
type action struct {
	verb, done, short string
	call              func(client.RolloutInterface, context.Context, string, *v1alpha1.RolloutAction, metav1.CreateOptions) (*v1alpha1.RolloutAction, error)
	// effect says what the verb would do, for the question before it; nothing where there is nothing to ask. Verbs without it ask nothing.
	effect func(context.Context, *actionOptions, *v1alpha1.Rollout) ([]string, error)
}

// actions are all that take a RolloutAction.
var actions = []action{
	{"advance", "advanced", "Take the next step; start a rollout with its first", client.RolloutInterface.Advance, nil},
	{"pause", "paused", "Keep a rollout where it is; its timers stand still", client.RolloutInterface.Pause, nil},
	{"resume", "resumed", "End a pause", client.RolloutInterface.Resume, nil},
	{"approve", "approved", "Approve the next step, where the gate asks for it", client.RolloutInterface.Approve, nil},
	{"promote", "promoted", "Let all the rest in at once, whatever the gates", client.RolloutInterface.Promote, promoteEffect},
	{"abort", "aborted", "Go back to the clusters that the run started from", client.RolloutInterface.Abort, abortEffect},
	{"rollback", "rolled back", "Go back to a recorded revision", client.RolloutInterface.Rollback, rollbackEffect},
	{"retry", "retried", "Give failed clusters another try; start an ended rollout anew", client.RolloutInterface.Retry, nil},
}

// actionOptions are the flags of a verb.
type actionOptions struct {
	*factory
	*action
	print            *genericclioptions.PrintFlags
	body             v1alpha1.RolloutActionSpec
	uid              types.UID // Of the rollout that was read before, empty where none was.
	observedStep     string
	observedRevision int64
	toRevision       int64
	clusters         []string
	dryRun           string
	yes              bool
}

func newActionCommand(f *factory, a *action) *cobra.Command {
	o := &actionOptions{factory: f, action: a, print: newPrintFlags(), dryRun: "none"}
	cmd := &cobra.Command{
		Use: a.verb + " NAME", Short: a.short, Args: exactly("NAME"), ValidArgsFunction: f.completeRollouts,
		Example: o.example(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.complete(cmd); err != nil {
				return err
			}
			return o.run(cmd.Context(), rolloutName(args[0]))
		},
	}
	o.addFlags(cmd)
	return cmd
}

func (o *actionOptions) example() string {
	return "  kubectl binnacle rollout " + strings.TrimSpace(o.verb+" web "+map[string]string{
		"advance": "--observed-step=p10", "promote": "--reason='INC-7: the fix must be everywhere'", "abort": "--reason='errors rise'",
		"rollback": "--to-revision=2", "retry": "--clusters=fleet/c4",
	}[o.verb])
}

func (o *actionOptions) addFlags(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&o.body.Reason, "reason", "", "Why, for the record. promote needs one.")
	fs.StringVar(&o.observedStep, "observed-step", "", "Name of the step that the rollout must be in, empty for none yet. Otherwise the server refuses.")
	fs.Int64Var(&o.observedRevision, "observed-revision", 0, "Revision that the rollout must be at. Otherwise the server refuses.")
	fs.StringVar(&o.body.IdempotencyKey, "idempotency-key", "", "Key under which the server takes the same request only once.")
	fs.StringVar(&o.dryRun, "dry-run", o.dryRun, "none, or server: the server checks everything and changes nothing.")
	if o.verb == "rollback" {
		fs.Int64Var(&o.toRevision, "to-revision", 0, "Recorded revision to return to, of those that history lists. Required.")
		complete(cmd, "to-revision", o.completeRevisions)
	}
	if o.verb == "retry" {
		fs.StringSliceVar(&o.clusters, "clusters", nil, "Failed clusters to try again, NAME or NAMESPACE/NAME. All where it is left out.")
		complete(cmd, "clusters", o.completeFailed)
	}
	if o.effect != nil {
		fs.BoolVarP(&o.yes, "yes", "y", false, "Do not ask on a terminal.")
	}
	addPrintFlags(cmd, o.print)
	complete(cmd, "observed-step", o.completeSteps)
	complete(cmd, "dry-run", cobra.FixedCompletions([]cobra.Completion{"none", "server"}, cobra.ShellCompDirectiveNoFileComp))
}

// complete fills the body from the flags, and refuses what cannot be asked.
func (o *actionOptions) complete(cmd *cobra.Command) error {
	if o.dryRun != "none" && o.dryRun != "server" {
		return usage(cmd, fmt.Errorf("--dry-run is none or server, not %q: only the server knows what a verb does", o.dryRun))
	}
	changed := cmd.Flags().Changed
	if changed("observed-step") {
		o.body.ObservedStep = &o.observedStep
	}
	if changed("observed-revision") {
		o.body.ObservedRevision = &o.observedRevision
	}
	if o.verb == "rollback" && !changed("to-revision") {
		return usage(cmd, fmt.Errorf("--to-revision is required: history lists those that are recorded"))
	}
	if changed("clusters") && len(o.clusters) == 0 {
		return usage(cmd, fmt.Errorf("--clusters names no cluster: leave it out for all that failed"))
	}
	if o.verb == "promote" && strings.TrimSpace(o.body.Reason) == "" {
		return usage(cmd, fmt.Errorf("--reason is required: promote passes all gates, and the history says why"))
	}
	if o.verb == "rollback" {
		o.body.ToRevision = &o.toRevision
	}
	for _, cluster := range o.clusters {
		ref := v1alpha1.ClusterReference{Name: cluster}
		if namespace, name, ok := strings.Cut(cluster, "/"); ok {
			ref = v1alpha1.ClusterReference{Namespace: namespace, Name: name}
		}
		o.body.Clusters = append(o.body.Clusters, ref)
	}
	return checkOutput(o.print)
}

func (o *actionOptions) run(ctx context.Context, name string) error {
	rollouts, namespace, err := o.rollouts()
	if err != nil {
		return err
	}
	if o.effect != nil {
		if err := o.confirm(ctx, rollouts, name); err != nil {
			return err
		}
	}
	options := metav1.CreateOptions{}
	if o.dryRun == "server" {
		options.DryRun = []string{metav1.DryRunAll}
	}
	answer, err := o.call(rollouts, ctx, name, &v1alpha1.RolloutAction{Metadata: metav1.ObjectMeta{UID: o.uid}, Spec: o.body}, options)
	if err != nil {
		return err
	}
	return o.report(answer, namespace, name)
}

// report prints the answer of the server.
func (o *actionOptions) report(answer *v1alpha1.RolloutAction, namespace, name string) error {
	switch {
	case *o.print.OutputFormat == "name":
		// The body has no metadata that a printer of names would find.
		return printObject(o.print, &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}, o.Out)
	case chosen(o.print):
		return printObject(o.print, answer, o.Out)
	}
	how := ""
	if o.dryRun == "server" {
		how = " (server dry run)"
	}
	if answer.Status.Repeated {
		how += " (repeated, nothing changed)"
	}
	_, err := fmt.Fprintf(o.Out, "rollout.binnacle.dev/%s %s%s\n%s\n", name, o.done, how, summary(&answer.Status))
	return err
}

// summary says in a line where a rollout is.
func summary(s *v1alpha1.RolloutActionStatus) string {
	parts := []string{fmt.Sprintf("%d/%d clusters", s.Counts.In, s.Counts.Targets)}
	if s.Step != "" {
		parts = append(parts, "step "+s.Step)
	}
	parts = append(parts, string(s.Phase), fmt.Sprintf("revision %d", s.Revision))
	if s.WaitingFor != "" {
		parts = append(parts, "waits for "+string(s.WaitingFor))
	}
	return strings.Join(parts, ", ")
}
