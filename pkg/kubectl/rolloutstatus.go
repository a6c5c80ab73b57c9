package kubectl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned"
)

// rolloutStatusOptions are the flags of rollout status.
type rolloutStatusOptions struct {
	*factory
	print   *genericclioptions.PrintFlags
	watch   bool
	wait    string
	timeout time.Duration
}

func newRolloutStatusCommand(f *factory) *cobra.Command {
	o := &rolloutStatusOptions{factory: f, print: newPrintFlags(), watch: true}
	cmd := &cobra.Command{
		Use: "status NAME", Short: "Show how far a rollout is, and follow it", Args: exactly("NAME"), ValidArgsFunction: f.completeRollouts,
		Long: `Show how far a rollout is, and follow it until it is completed, aborted or rolled back. On a terminal the picture is drawn anew; elsewhere each
change is a line. A lost connection is taken up again.

With --wait the command ends as soon as the rollout is there. Exit codes:
  0  reached; without --wait: shown
  1  error
  2  stopped, aborted or rolled back, or complete without it: it will not come by itself
  3  not within --timeout`,
		Example: `  # Follow a rollout
  kubectl binnacle rollout status web
  # Take a step, and wait until the next may be taken
  kubectl binnacle rollout advance web && kubectl binnacle rollout status web --wait=step --timeout=1h`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, rolloutName(args[0])) },
	}
	fs := cmd.Flags()
	fs.BoolVarP(&o.watch, "watch", "w", true, "Follow the rollout. With false, or with --output and without --wait, it is shown once.")
	fs.StringVar(&o.wait, "wait", "", "Wait for: complete; step, until the next may be taken; step=NAME, until that one was taken; phase=PHASE.")
	fs.Lookup("wait").NoOptDefVal = "complete"
	fs.DurationVar(&o.timeout, "timeout", 0, "How long to follow or wait, such as 10m. 0 is without end.")
	addPrintFlags(cmd, o.print)
	complete(cmd, "wait", f.completeGoals)
	return cmd
}

func (o *rolloutStatusOptions) run(cmd *cobra.Command, name string) error {
	if err := checkOutput(o.print); err != nil {
		return err
	}
	var g *goal
	if o.wait != "" {
		var err error
		if g, err = parseGoal(o.wait); err != nil {
			return usage(cmd, err)
		}
	}
	client, namespace, err := o.connect()
	if err != nil {
		return err
	}
	if g == nil && (!o.watch || chosen(o.print)) {
		rollout, err := client.BinnacleV1alpha1().Rollouts(namespace).Get(cmd.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return o.once(rollout)
	}
	ctx := cmd.Context()
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.timeout)
		defer cancel()
	}
	err = o.follow(ctx, client, namespace, name, g)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		what := "the rollout to finish"
		if g != nil {
			what = g.text
		}
		return exitError{fmt.Errorf("timed out after %s waiting for %s", o.timeout, what), ExitTimeout}
	}
	return err
}

// once shows a rollout as it is.
func (o *rolloutStatusOptions) once(rollout *v1alpha1.Rollout) error {
	if chosen(o.print) {
		return printObject(o.print, rollout, o.Out)
	}
	width, _ := o.terminal(o.Out)
	_, err := fmt.Fprintln(o.Out, describe(rollout, o.now(), width))
	return err
}

// follow shows the rollout until the goal is reached, or without one until it is finished. With --output the last is printed.
func (o *rolloutStatusOptions) follow(ctx context.Context, client versioned.Interface, namespace, name string, g *goal) error {
	s := &screen{out: o.Out}
	s.width, s.terminal = o.terminal(o.Out)
	f := follower{
		client: client, namespace: namespace, name: name,
		see: func(rollout *v1alpha1.Rollout) (bool, error) {
			if !chosen(o.print) {
				s.show(rollout, o.now())
			}
			if g == nil {
				return isFinished(rollout), nil
			}
			done, err := g.check(rollout, o.now())
			if (done || err != nil) && chosen(o.print) {
				return true, errors.Join(err, o.once(rollout))
			}
			return done, err
		},
		lost: func(err error) { s.above(o.ErrOut, "Connection lost, trying again: "+message(err)) },
	}
	return f.run(ctx)
}
