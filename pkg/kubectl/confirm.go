package kubectl

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	client "github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned/typed/binnacle/v1alpha1"
)

// confirm says what a verb would do and asks, where somebody is at a terminal. What was agreed to is what is done: the request names the
// step and the revision that were shown. Without a question it does not, so that an abort in need is not refused for a step that was
// taken meanwhile.
func (o *actionOptions) confirm(ctx context.Context, rollouts client.RolloutInterface, name string) error {
	rollout, lines, err := o.foresee(ctx, rollouts, name)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return err
	}
	if err != nil {
		lines = []string{"What it would do cannot be shown: " + message(err)}
	}
	if rollout != nil {
		o.uid = rollout.UID // Never another of the same name.
	}
	if len(lines) == 0 {
		return nil
	}
	fmt.Fprintln(o.ErrOut, strings.Join(lines, "\n"))
	if _, terminal := o.terminal(o.In); !terminal || o.yes || o.dryRun != "none" {
		return nil
	}
	fmt.Fprintf(o.ErrOut, "%s rollout %s? [y/N] ", strings.ToUpper(o.verb[:1])+o.verb[1:], name)
	answer, err := bufio.NewReader(o.In).ReadString('\n')
	if answer = strings.ToLower(strings.TrimSpace(answer)); err != nil || answer != "y" && answer != "yes" {
		return errors.New("not confirmed, nothing was done")
	}
	o.observe(rollout)
	return nil
}

// observe makes what was shown the precondition, unless flags named others.
func (o *actionOptions) observe(rollout *v1alpha1.Rollout) {
	if rollout == nil || o.body.ObservedStep != nil || o.body.ObservedRevision != nil {
		return
	}
	step, revision := stepName(rollout), rollout.Status.Revision
	o.body.ObservedStep, o.body.ObservedRevision = &step, &revision
}

// foresee reads the rollout and what the verb would do with it.
func (o *actionOptions) foresee(ctx context.Context, rollouts client.RolloutInterface, name string) (*v1alpha1.Rollout, []string, error) {
	rollout, err := rollouts.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, nil, err
	}
	lines, err := o.effect(ctx, o, rollout)
	return rollout, lines, err
}

// What the server refuses anyway, and says why, has no effect.

func promoteEffect(ctx context.Context, o *actionOptions, rollout *v1alpha1.Rollout) ([]string, error) {
	if phase := phaseOf(rollout); phase != v1alpha1.RolloutPending && phase != v1alpha1.RolloutProgressing {
		return nil, nil
	}
	preview, err := o.preview(ctx, rollout.Name, rollout.Spec.Steps[len(rollout.Spec.Steps)-1].Name)
	if err != nil {
		return nil, err
	}
	lines := []string{fmt.Sprintf("promote lets %s in at once, whatever the gates.", plural(len(preview.Status.Added)))}
	return append(lines, listed(rollout.Namespace, group{"in", preview.Status.Added}, group{"out", preview.Status.Removed},
		group{"held", preview.Status.Held})...), nil
}

func abortEffect(_ context.Context, _ *actionOptions, rollout *v1alpha1.Rollout) ([]string, error) {
	if isFinished(rollout) {
		return nil, nil
	}
	if phaseOf(rollout) == v1alpha1.RolloutPending {
		return []string{"abort ends the rollout before it began. No cluster is through."}, nil
	}
	return returnTo(rollout, rollout.Status.BaseRevision, "abort ends the run and returns to the clusters that it started from"), nil
}

func rollbackEffect(_ context.Context, o *actionOptions, rollout *v1alpha1.Rollout) ([]string, error) {
	recorded := func(r v1alpha1.RolloutRevision) bool { return r.Revision == o.toRevision }
	if !slices.ContainsFunc(rollout.Status.Revisions, recorded) {
		return nil, nil
	}
	return returnTo(rollout, o.toRevision, fmt.Sprintf("rollback ends the run and returns to revision %d", o.toRevision)), nil
}

// returnTo says who would come and go on the way back to a revision.
func returnTo(rollout *v1alpha1.Rollout, revision int64, what string) []string {
	var in, out []v1alpha1.ClusterReference
	for i := range rollout.Status.Clusters {
		c := &rollout.Status.Clusters[i]
		ref := v1alpha1.ClusterReference{Name: c.Name, Namespace: c.Namespace}
		switch is, was := throughAt(c, rollout.Status.Revision), throughAt(c, revision); {
		case is && !was:
			out = append(out, ref)
		case was && !is:
			in = append(in, ref)
		}
	}
	lines := []string{fmt.Sprintf("%s: %s out, %s in.", what, plural(len(out)), plural(len(in)))}
	return append(lines, listed(rollout.Namespace, group{"out", out}, group{"in", in})...)
}

// throughAt says whether a cluster was in the decision at a revision: its history are the revisions of its coming and going, in turn.
func throughAt(c *v1alpha1.RolloutCluster, revision int64) bool {
	moves := 0
	for moves < len(c.History) && c.History[moves] <= revision {
		moves++
	}
	return moves%2 == 1
}

func plural(clusters int) string {
	if clusters == 1 {
		return "1 cluster"
	}
	return fmt.Sprintf("%d clusters", clusters)
}
